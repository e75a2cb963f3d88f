#pragma once
// Ctrl-C, SIGTERM and the end of a time limit as a flag that the training loop reads between
// batches.

namespace adagp::core {

// `timeout` sends a signal to the process and again to its group. Both ask for one and the same
// thing, however far apart a busy machine delivers them; one more means "at once".
inline constexpr int kSignalsOfOneStop = 2;

// Installs the handlers. What comes after kSignalsOfOneStop signals ends the process at once with
// exit code 128 + signal; files under construction are then as after a power cut (files.h).
void catch_signals();
// The signal that arrived, SIGALRM once the time of stop_after() is up, or 0.
int pending_signal();

// From now on in so many seconds, pending_signal() is SIGALRM; 0 or less takes the limit back.
void stop_after(double seconds);
// Whether that time is up and no signal arrived: then nobody interrupted anything.
bool time_is_up();

}  // namespace adagp::core

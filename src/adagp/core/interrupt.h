#pragma once
// Ctrl-C, SIGTERM and the end of a time limit as a flag that the training loop reads between
// batches.

namespace adagp::core {

// Installs the handlers. The same signal a second later or more ends the process at once.
void catch_signals();
// For signal handlers: whether the same signal came less than a second ago. `timeout` sends one to
// the process and again to its group.
bool sent_twice(int signal);
// The signal that arrived, SIGALRM once the time of stop_after() is up, or 0.
int pending_signal();

// From now on in so many seconds, pending_signal() is SIGALRM; 0 or less takes the limit back.
void stop_after(double seconds);
// Whether that time is up and no signal arrived: then nobody interrupted anything.
bool time_is_up();

}  // namespace adagp::core

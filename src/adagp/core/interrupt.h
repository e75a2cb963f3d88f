#pragma once
// Ctrl-C and SIGTERM as a flag that the training loop reads between batches.

namespace adagp::core {

// Installs the handlers; a second signal of the same kind ends the process at once.
void catch_signals();
// The signal that arrived, or 0.
int pending_signal();

}  // namespace adagp::core

#include "adagp/teams/comm/library_settings.h"

#include <cstdlib>

#include "adagp/teams/comm/store_place.h"

namespace adagp::comm {

void set_library_variables() {
  constexpr int kKeep = 0;  // what the user has set
  // All groups of a process share one record of their calls, for debuggers, and torch 2.11 writes
  // to it without a lock: calls from two threads crash now and then.
  setenv("TORCH_FR_BUFFER_SIZE", "0", kKeep);
  // Otherwise NCCL's watchdog ends the process when a peer fails: no message, no way out through
  // destructors.
  setenv("TORCH_NCCL_BLOCKING_WAIT", "1", kKeep);
  // c10d asks the name server for the name of every address it connects to. Where that one does not
  // answer, processes of one machine should not wait longer than a second for it.
  const char* master = std::getenv("MASTER_ADDR");
  if (master != nullptr && on_this_machine(master)) {
    setenv("RES_OPTIONS", "timeout:1 attempts:1", kKeep);
  }
}

}  // namespace adagp::comm

#pragma once
// What the kernel tells of a process of this machine. No torch here.

#include <string>

namespace adagp::comm {

struct ProcessState {
  char state = '\0';          // as proc(5) has it; '\0': there is no such process
  std::string started;        // by the kernel's clock
  double processor_time = 0;  // seconds used so far
};

ProcessState process_state(long long pid);

}  // namespace adagp::comm

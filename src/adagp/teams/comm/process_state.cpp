#include "adagp/teams/comm/process_state.h"

#include <unistd.h>

#include <fstream>
#include <iterator>

#include "adagp/base/core/text.h"

namespace adagp::comm {

ProcessState process_state(long long pid) {
  std::ifstream file(core::cat("/proc/", pid, "/stat"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return {};
  const auto fields = core::split(text.substr(name_end + 2), ' ');
  // As proc(5) counts, from the state on.
  constexpr size_t kUserTime = 14 - 3, kSystemTime = 15 - 3, kStartTime = 22 - 3;
  ProcessState found{fields[0][0], "", 0};
  if (fields.size() <= kStartTime) return found;
  found.started = fields[kStartTime];
  found.processor_time =
      (std::atof(fields[kUserTime].c_str()) + std::atof(fields[kSystemTime].c_str())) /
      static_cast<double>(sysconf(_SC_CLK_TCK));
  return found;
}

}  // namespace adagp::comm

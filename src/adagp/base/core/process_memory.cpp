#include "adagp/base/core/process_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace adagp::core {

double resident_memory() {
  std::ifstream file("/proc/self/statm");
  double whole = 0, resident = 0;
  if (!(file >> whole >> resident)) return 0;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double peak_memory() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

}  // namespace adagp::core

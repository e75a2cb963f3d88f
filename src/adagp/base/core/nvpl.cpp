#include "adagp/base/core/nvpl.h"

#include <cstdlib>
#include <fstream>

namespace adagp::core {

bool caches_have_no_size(const fs::path& folder) {
  bool any = false;
  for (int i = 0; i < 10; ++i) {
    const fs::path index = folder / ("index" + std::to_string(i));
    std::string type;
    long long sets = 0;
    std::ifstream(index / "type") >> type;
    if (type == "Instruction" || !(std::ifstream(index / "number_of_sets") >> sets)) continue;
    if (sets != 0) return false;
    any = true;
  }
  return any;
}

void avoid_nvpl_hang() {
#if defined(__aarch64__)
  constexpr int kKeep = 0;  // what the user has set
  if (caches_have_no_size()) setenv("NVPL_BLAS_DEBUG_CPU_TYPE", "1", kKeep);  // generic kernels
#endif
}

}  // namespace adagp::core

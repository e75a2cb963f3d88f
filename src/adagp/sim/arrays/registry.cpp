#include <array>

#include "adagp/base/core/lookup.h"
#include "adagp/sim/arrays/machine.h"

namespace adagp::arrays {

std::span<const Machine* const> machines() {
  static const std::array<const Machine*, 5> kMachines = {&kTensorDash, &kFast, &kProcrustes,
                                                          &kCamel, &kInPlace};
  return kMachines;
}

const Machine& find_machine(const std::string& name) {
  return *core::find_named(machines(), name, "machine", " is unknown");
}

}  // namespace adagp::arrays

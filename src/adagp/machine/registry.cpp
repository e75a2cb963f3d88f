#include <array>

#include "adagp/core/lookup.h"
#include "adagp/machine/machine.h"

namespace adagp::machine {

std::span<const Machine* const> machines() {
  static const std::array<const Machine*, 5> kMachines = {&kTensorDash, &kFast, &kProcrustes,
                                                          &kCamel, &kInPlace};
  return kMachines;
}

const Machine& find_machine(const std::string& name) {
  return *core::find_named(machines(), name, "machine", " is unknown");
}

}  // namespace adagp::machine

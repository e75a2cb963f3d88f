#include <array>

#include "adagp/base/core/lookup.h"
#include "adagp/sim/arrays/machine.h"

namespace adagp::arrays {

std::span<const Machine* const> machines() {
#define ADAGP_ADDRESS(name) &(name),
  static const std::array kMachines = {ADAGP_MACHINES(ADAGP_ADDRESS)};
#undef ADAGP_ADDRESS
  return kMachines;
}

const Machine& find_machine(const std::string& name) {
  return *core::find_named(machines(), name, "machine", " is unknown");
}

}  // namespace adagp::arrays

#include "adagp/base/core/lookup.h"
#include "adagp/sim/accel/design/design.h"

namespace adagp::accel {
namespace {

constexpr const Design* kDesigns[] = {&kBaseline, &kLow, &kEfficient, &kMax};

}  // namespace

std::span<const Design* const> designs() {
  return kDesigns;
}

const Design& find_design(const std::string& name) {
  return *core::find_named(kDesigns, name, "design", " is unknown");
}

}  // namespace adagp::accel

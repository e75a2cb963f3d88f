#include <vector>

#include "adagp/accel/design/design.h"
#include "adagp/core/error.h"
#include "adagp/core/text.h"

namespace adagp::accel {
namespace {

constexpr const Design* kDesigns[] = {&kBaseline, &kLow, &kEfficient, &kMax};

}  // namespace

std::span<const Design* const> designs() {
  return kDesigns;
}

const Design& find_design(const std::string& name) {
  std::vector<std::string> names;
  for (const Design* design : kDesigns) {
    if (name == design->name) return *design;
    names.emplace_back(design->name);
  }
  throw UsageError("design '" + name + "' is unknown" + core::suggestion(name, names));
}

}  // namespace adagp::accel

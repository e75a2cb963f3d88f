#include "adagp/base/core/duration.h"

#include <algorithm>
#include <cmath>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::core {

Duration Duration::parse(const std::string& text) {
  const std::string clean = trim(text);
  Duration out;
  const bool epochs = clean.ends_with("ep");
  const bool batches = clean.ends_with("ba");
  if (!(epochs || batches) || !parse_number(trim(clean.substr(0, clean.size() - 2)), out.value) ||
      !(out.value >= 0) || !std::isfinite(out.value)) {
    throw UsageError("duration '" + text +
                     "': expected a number and a unit, such as 90ep or 500ba");
  }
  out.unit = epochs ? Unit::kEpochs : Unit::kBatches;
  return out;
}

int64_t Duration::batches(int64_t batches_per_epoch) const {
  constexpr double kMost = 1e18;  // longer than any run, inside 64 bits
  const double count =
      unit == Unit::kEpochs ? value * static_cast<double>(batches_per_epoch) : value;
  return std::llround(std::min(count, kMost));
}

}  // namespace adagp::core

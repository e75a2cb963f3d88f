#include "adagp/base/plan/weighted.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"
#include "adagp/base/core/text.h"

namespace adagp::plan {
namespace {

void check(const std::vector<double>& weights, const WeightedDraw& draw) {
  int64_t drawable = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0) {
      throw UsageError(core::cat("weights: number ", i, " is ", core::shortest(weights[i]),
                                 ", expected 0 or more"));
    }
    if (weights[i] > 0) ++drawable;
  }
  if (draw.examples < 1)
    throw UsageError(core::cat("draws: ", draw.examples, ", expected 1 or more"));
  const int64_t least = draw.replace ? 1 : draw.examples;
  if (drawable < least) {
    throw UsageError(core::cat("weights: ", drawable, " of ", weights.size(),
                               " are above 0, expected ", least, " or more",
                               draw.replace ? "" : ": without replacement each is drawn once"));
  }
}

// A draw falls on the example in whose part of the sum it lies.
std::vector<int64_t> with_replacement(const std::vector<double>& weights, int64_t count,
                                      core::Rng& rng) {
  const double largest = *std::ranges::max_element(weights);
  std::vector<double> sums(weights.size());
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) sums[i] = sum += weights[i] / largest;
  std::vector<int64_t> out(static_cast<size_t>(count));
  for (int64_t& example : out) {
    // The first sum above the draw: never one of an example without weight.
    const auto at = std::ranges::upper_bound(sums, rng.uniform() * sum);
    example = std::min(at, std::ranges::lower_bound(sums, sum)) - sums.begin();
  }
  return out;
}

// Drawing one after the other is the order of log(u) / weight, largest first (Efraimidis and
// Spirakis, 2006).
std::vector<int64_t> without_replacement(const std::vector<double>& weights, int64_t count,
                                         core::Rng& rng) {
  std::vector<std::pair<double, int64_t>> keys;
  keys.reserve(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const double u = 1 - rng.uniform();  // (0, 1]
    if (weights[i] > 0) keys.emplace_back(-std::log(u) / weights[i], static_cast<int64_t>(i));
  }
  std::ranges::partial_sort(keys, keys.begin() + count);
  std::vector<int64_t> out(static_cast<size_t>(count));
  std::ranges::transform(keys.begin(), keys.begin() + count, out.begin(),
                         [](const auto& key) { return key.second; });
  return out;
}

}  // namespace

std::vector<int64_t> weighted_examples(const std::vector<double>& weights, const WeightedDraw& draw,
                                       uint64_t seed, int64_t epoch) {
  check(weights, draw);
  constexpr uint64_t kPurpose = 0x7765696768746564ULL;  // not the numbers of order or selection
  core::Rng rng(core::mix({seed, kPurpose, static_cast<uint64_t>(epoch)}));
  return draw.replace ? with_replacement(weights, draw.examples, rng)
                      : without_replacement(weights, draw.examples, rng);
}

}  // namespace adagp::plan

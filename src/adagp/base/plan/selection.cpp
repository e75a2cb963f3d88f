#include "adagp/base/plan/selection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"
#include "adagp/base/core/text.h"

namespace adagp::plan {
namespace {

int64_t first_annealed(const config::RunConfig& config, int64_t epochs) {
  const double share = config.select_anneal * static_cast<double>(epochs);
  return epochs - (share > 0 ? std::max<int64_t>(1, std::llround(share)) : 0);
}

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

bool takes_all(const config::RunConfig& config, const SelectionCase& now) {
  return now.epoch == 0 || now.epoch >= first_annealed(config, now.epochs);
}

std::vector<int64_t> selection_turns(const config::RunConfig& config, int64_t epochs) {
  return {1, first_annealed(config, epochs)};
}

std::vector<double> selection_draws(uint64_t seed, int64_t epoch, int64_t examples) {
  constexpr uint64_t kPurpose = 0x73656c656374ULL;  // not the numbers of order or augmentation
  core::Rng rng(core::mix({seed, kPurpose, static_cast<uint64_t>(epoch)}));
  std::vector<double> draws(static_cast<size_t>(examples));
  for (double& draw : draws) draw = rng.uniform();
  return draws;
}

// Bits of floats that are not negative are ordered as they are: two rounds of counting, which take
// a tenth of the time of comparing.
std::vector<uint32_t> by_loss(const std::vector<float>& losses) {
  constexpr int kBits = 12, kFirst = 32 - 2 * kBits;
  constexpr uint32_t kMask = (1U << kBits) - 1;
  std::vector<uint32_t> order(losses.size()), next(losses.size());
  std::iota(order.begin(), order.end(), 0U);
  for (int shift = kFirst; shift < 32; shift += kBits) {
    const auto digit = [&](uint32_t i) {
      return (std::bit_cast<uint32_t>(losses[i]) >> shift) & kMask;
    };
    std::vector<size_t> starts(kMask + 2);
    for (const uint32_t i : order) ++starts[digit(i) + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    for (const uint32_t i : order) next[starts[digit(i)]++] = i;
    order.swap(next);
  }
  return order;
}

namespace {

// The usual powers without std::pow, which would take longer than all the rest.
double power_of(double base, double power) {
  if (power == 1) return base;
  return power == 0.5 ? std::sqrt(base) : std::pow(base, power);
}

}  // namespace

std::vector<float> stored_loss_rule(const config::RunConfig& config, const SelectionCase& now) {
  std::vector<float> weights(now.losses.size(), 1.0F);
  if (takes_all(config, now) || config.stored_loss_power == 0) return weights;
  const std::vector<uint32_t> order = by_loss(now.losses);
  for (size_t place = 0; place < order.size(); ++place) {
    const double rank = static_cast<double>(place + 1) / static_cast<double>(order.size());
    if (now.draws[order[place]] >= power_of(rank, config.stored_loss_power)) {
      weights[order[place]] = 0;
    }
  }
  return weights;
}

std::vector<float> infobatch_rule(const config::RunConfig& config, const SelectionCase& now) {
  std::vector<float> weights(now.losses.size(), 1.0F);
  if (takes_all(config, now) || config.infobatch_prune == 0) return weights;
  double sum = 0, known = 0;
  for (const float loss : now.losses) {
    if (!std::isfinite(loss)) continue;
    sum += loss;
    known += 1;
  }
  const double mean = known > 0 ? sum / known : 0;
  const double stays = 1 - config.infobatch_prune;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!(now.losses[i] < mean)) continue;
    weights[i] = now.draws[i] < stays ? static_cast<float>(1 / stays) : 0.0F;
  }
  return weights;
}

std::vector<int64_t> weighted_examples(const std::vector<double>& weights, const WeightedDraw& draw,
                                       uint64_t seed, int64_t epoch) {
  check(weights, draw);
  constexpr uint64_t kPurpose = 0x7765696768746564ULL;  // not the numbers of order or selection
  core::Rng rng(core::mix({seed, kPurpose, static_cast<uint64_t>(epoch)}));
  return draw.replace ? with_replacement(weights, draw.examples, rng)
                      : without_replacement(weights, draw.examples, rng);
}

}  // namespace adagp::plan

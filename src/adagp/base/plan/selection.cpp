#include "adagp/base/plan/selection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "adagp/base/core/rng.h"

namespace adagp::plan {

namespace {

int64_t first_annealed(const config::RunConfig& config, int64_t epochs) {
  const double share = config.select_anneal * static_cast<double>(epochs);
  return epochs - (share > 0 ? std::max<int64_t>(1, std::llround(share)) : 0);
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

}  // namespace adagp::plan

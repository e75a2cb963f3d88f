#include "adagp/base/plan/held_out.h"

#include <algorithm>
#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"
#include "adagp/base/core/text.h"

namespace adagp::plan {

std::vector<int64_t> draw_held_out(int64_t seed, int64_t examples, int64_t count) {
  constexpr uint64_t kPurpose = 0x68656c646f7574ULL;  // not the numbers of order or augmentation
  auto order = core::permutation(examples, core::mix({static_cast<uint64_t>(seed), kPurpose}));
  order.resize(static_cast<size_t>(count));
  return order;
}

std::vector<int64_t> watched_examples(const config::RunConfig& config, int64_t examples) {
  constexpr int64_t kPart = 20;
  const int64_t count = std::max(config.batch, examples / kPart);
  if (examples - count < config.batch) {
    throw UsageError(core::cat("policy.watch = held-out: ", examples,
                               " training examples do not make a batch of ", config.batch,
                               " to hold out and one to train on; lower batch, raise data.limit, "
                               "or watch train"));
  }
  return draw_held_out(config.seed, examples, count);
}

SelectionRule all_but(std::vector<int64_t> held_out, SelectionRule rule) {
  const bool by_loss = rule && rule.by_loss;
  const auto weights = [held_out = std::move(held_out), rule = std::move(rule)](
                           const config::RunConfig& config, const SelectionCase& now) {
    std::vector<float> out(now.losses.size(), 1.0F);
    for (const int64_t i : held_out) out[static_cast<size_t>(i)] = 0;
    if (!rule) return out;
    std::vector<float> losses;
    std::vector<double> draws;
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i] == 0) continue;
      losses.push_back(now.losses[i]);
      draws.push_back(now.draws[i]);
    }
    const std::vector<float> chosen = rule.weights(config, {losses, draws, now.epoch, now.epochs});
    auto next = chosen.begin();
    for (float& weight : out) {
      if (weight != 0) weight = *next++;
    }
    return out;
  };
  return {weights, by_loss};
}

EpochPlan in_batches(std::vector<int64_t> examples, int64_t batch) {
  EpochPlan plan;
  plan.order = std::move(examples);
  const auto count = static_cast<int64_t>(plan.order.size());
  for (int64_t begin = 0; begin < count; begin += batch) {
    plan.batches.push_back({begin, std::min(batch, count - begin)});
  }
  return plan;
}

}  // namespace adagp::plan

#include "adagp/base/plan/run_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "adagp/base/core/rng.h"

namespace adagp::plan {

RunPlan::RunPlan(config::RunConfig config, schedule::Schedule schedule, BatchPlan batch_plan,
                 SelectionRule rule, int64_t examples)
    : config_(std::move(config)),
      schedule_(std::move(schedule)),
      batch_plan_(std::move(batch_plan)),
      rule_(std::move(rule)),
      examples_(examples) {}

BatchContext RunPlan::context(int64_t epoch, int64_t position) const {
  return {epoch, config_.epochs, schedule_.at(epoch, position)};
}

std::vector<EpochPlan::Part> RunPlan::parts(int64_t epoch, int64_t examples) const {
  std::vector<EpochPlan::Part> out;
  for (int64_t begin = 0;;) {
    const auto position = static_cast<int64_t>(out.size());
    const int64_t planned = batch_plan_.at(context(epoch, position)).examples;
    const int64_t size = planned > 0 ? planned : config_.batch;
    if (begin + size > examples) break;
    out.push_back({begin, size});
    begin += size;
  }
  // Fewer than one whole batch: they are one.
  if (out.empty() && examples > 0) out.push_back({0, examples});
  return out;
}

RunPlan::Chance RunPlan::chance(int64_t epoch) const {
  const auto seed = static_cast<uint64_t>(config_.seed);
  Chance out;
  out.epoch = epoch;
  // Plain backprop's, so that an epoch that leaves nothing out is one of its.
  out.order = core::permutation(examples_, core::mix({seed, static_cast<uint64_t>(epoch)}));
  if (rule_) out.draws = selection_draws(seed, epoch, examples_);
  return out;
}

std::vector<float> RunPlan::weights(const Chance& chance, std::vector<float> losses) const {
  if (!rule_) return {};
  for (float& loss : losses) {
    // The cross-entropy of a sure answer is -0, and rules compare bits: 0 has another sign.
    loss = loss >= 0 ? loss + 0.0F : std::numeric_limits<float>::infinity();
  }
  return rule_.weights(config_, {losses, chance.draws, chance.epoch, config_.epochs});
}

EpochPlan RunPlan::lay_out(Chance chance, const std::vector<float>& weights) const {
  EpochPlan plan;
  plan.order = std::move(chance.order);
  if (rule_) {
    std::erase_if(plan.order, [&](int64_t i) { return weights[static_cast<size_t>(i)] == 0; });
    // A rule that leaves out everything has nothing to say.
    if (plan.order.empty()) plan.order = {0};
  }
  plan.batches = parts(chance.epoch, static_cast<int64_t>(plan.order.size()));
  return plan;
}

// As if the losses were all different, in any order.
int64_t RunPlan::expected_examples(int64_t epoch) const {
  if (!rule_) return examples_;
  std::vector<float> losses(static_cast<size_t>(examples_));
  std::iota(losses.begin(), losses.end(), 0.0F);
  const auto draws = selection_draws(static_cast<uint64_t>(config_.seed), 0, examples_);
  const auto weights = rule_.weights(config_, {losses, draws, epoch, config_.epochs});
  return examples_ - std::count(weights.begin(), weights.end(), 0.0F);
}

std::vector<RunPlan::Stage> RunPlan::stages() const {
  const int64_t epochs = config_.epochs;
  std::vector<int64_t> bounds = batch_plan_.turns_in(epochs);
  if (rule_) {
    for (const int64_t turn : selection_turns(config_, epochs)) bounds.push_back(turn);
  }
  int64_t end_of_stretch = 0;
  for (const schedule::Stretch& stretch : schedule_.stretches()) {
    bounds.push_back(end_of_stretch += stretch.epochs);
  }
  std::erase_if(bounds, [&](int64_t epoch) { return epoch <= 0 || epoch >= epochs; });
  bounds.push_back(epochs);
  std::sort(bounds.begin(), bounds.end());
  std::vector<Stage> out;
  Stage next;
  for (const int64_t bound : bounds) {
    if (bound == next.begin) continue;
    next.end = bound;
    next.examples = expected_examples(next.begin);
    out.push_back(next);
    next.examples_before +=
        static_cast<double>(bound - next.begin) * static_cast<double>(next.examples);
    next.begin = bound;
  }
  return out;
}

double RunPlan::progress(int64_t epoch, double within) {
  if (!rule_) {
    return (static_cast<double>(epoch) + within) / static_cast<double>(config_.epochs);
  }
  if (stages_.empty()) stages_ = stages();
  const auto before = [](const Stage& stage, int64_t end) {
    return stage.examples_before +
           static_cast<double>(end - stage.begin) * static_cast<double>(stage.examples);
  };
  const double all = before(stages_.back(), stages_.back().end);
  for (const Stage& stage : stages_) {
    if (epoch >= stage.end) continue;
    const double from = before(stage, epoch) / all, to = before(stage, epoch + 1) / all;
    return from + within * (to - from);
  }
  return 1;
}

double share_before(const EpochPlan& plan, int64_t position) {
  if (position == 0) return 0;
  const auto& last = plan.batches.back();
  return static_cast<double>(plan.batches.at(static_cast<size_t>(position)).begin) /
         static_cast<double>(last.begin + last.count);
}

int64_t nominal_step(double progress, int64_t total) {
  // Rounding must not lose a batch: shares are sums of doubles.
  return static_cast<int64_t>(progress * static_cast<double>(total) + 1e-6);
}

}  // namespace adagp::plan

#include "adagp/train/epoch_planner.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <ATen/ATen.h>

#include "adagp/core/error.h"
#include "adagp/core/rng.h"
#include "adagp/core/text.h"

namespace adagp::train {
namespace {

std::vector<float> to_host(const at::Tensor& values) {
  const at::Tensor host = values.to(at::kCPU, at::kFloat).contiguous();
  const auto* first = host.const_data_ptr<float>();
  return {first, first + host.numel()};
}

// On a thread, or where none can be started when it is asked for.
constexpr auto kAhead = std::launch::async | std::launch::deferred;

// In the table of an example that was not seen yet; losses are never negative.
constexpr float kUnseen = -1;

template <typename T>
at::Tensor to_device(const std::vector<T>& values, at::ScalarType type, at::Device device) {
  at::Tensor host = at::empty({static_cast<int64_t>(values.size())},
                              at::TensorOptions(type).pinned_memory(device.is_cuda()));
  std::copy(values.begin(), values.end(), host.mutable_data_ptr<T>());
  return host.to(device, /*non_blocking=*/true);
}

}  // namespace

EpochPlanner::EpochPlanner(step::Session& session, const method::Method& method,
                           schedule::Schedule schedule, plan::SelectionRule rule)
    : session_(session),
      method_(method),
      schedule_(std::move(schedule)),
      rule_(std::move(rule)),
      planned_(static_cast<bool>(rule_) || method.batch_plan().resizes_batches),
      examples_(session.task->train_size()) {
  if (!planned_) return;
  method::require_alone(session);
  method::require_losses(session);
  if (!rule_ || !rule_.by_loss) return;
  session.stored_losses =
      at::full({examples_}, kUnseen, at::TensorOptions(session.device).dtype(at::kFloat));
}

data::Planner EpochPlanner::planner() {
  if (!planned_) return {};
  return [this](int64_t epoch) { return current(epoch).plan; };
}

std::vector<data::EpochPlan::Part> EpochPlanner::parts(int64_t epoch, int64_t examples) const {
  std::vector<data::EpochPlan::Part> out;
  for (int64_t begin = 0;;) {
    const auto position = static_cast<int64_t>(out.size());
    const int64_t planned = method_.batch_plan().at(context(epoch, position)).examples;
    const int64_t size = planned > 0 ? planned : session_.config.batch;
    if (begin + size > examples) break;
    out.push_back({begin, size});
    begin += size;
  }
  // Fewer than one whole batch: they are one.
  if (out.empty() && examples > 0) out.push_back({0, examples});
  return out;
}

EpochPlanner::Chance EpochPlanner::chance(int64_t epoch) const {
  const auto seed = static_cast<uint64_t>(session_.config.seed);
  Chance out;
  out.epoch = epoch;
  // Plain backprop's, so that an epoch that leaves nothing out is one of its.
  out.order = core::permutation(examples_, core::mix({seed, static_cast<uint64_t>(epoch)}));
  if (rule_) out.draws = plan::selection_draws(seed, epoch, examples_);
  return out;
}

void EpochPlanner::lay_out(Chance chance, const std::vector<float>& weights) {
  chosen_ = weights;
  const int64_t epoch = chance.epoch;
  auto plan = std::make_shared<data::EpochPlan>();
  plan->order = std::move(chance.order);
  if (rule_) {
    std::erase_if(plan->order, [&](int64_t i) { return weights[static_cast<size_t>(i)] == 0; });
    // A rule that leaves out everything has nothing to say.
    if (plan->order.empty()) plan->order = {0};
  }
  plan->batches = parts(epoch, static_cast<int64_t>(plan->order.size()));
  current_ = {epoch, plan, {}, {}};
  if (!rule_) return;
  current_.order = to_device(plan->order, at::kLong, session_.device);
  const auto counts_once = [](float weight) { return weight == 0 || weight == 1; };
  if (std::all_of(weights.begin(), weights.end(), counts_once)) return;
  std::vector<float> in_order;
  for (const int64_t i : plan->order) in_order.push_back(weights[static_cast<size_t>(i)]);
  current_.weights = to_device(in_order, at::kFloat, session_.device);
}

const EpochPlanner::Current& EpochPlanner::current(int64_t epoch) {
  if (current_.epoch == epoch) return current_;
  Chance now = ahead_.valid() ? ahead_.get() : chance(epoch);
  if (now.epoch != epoch) now = chance(epoch);
  std::vector<float> weights;
  if (rule_) {
    std::vector<float> losses = rule_.by_loss ? to_host(session_.stored_losses)
                                              : std::vector<float>(static_cast<size_t>(examples_));
    for (float& loss : losses) {
      if (!(loss >= 0)) loss = std::numeric_limits<float>::infinity();
    }
    weights = rule_.weights(session_.config, {losses, now.draws, epoch, session_.config.epochs});
  }
  lay_out(std::move(now), weights);
  ahead_ = std::async(kAhead, [this, epoch] { return chance(epoch + 1); });
  return current_;
}

int64_t EpochPlanner::batches(int64_t epoch) {
  return planned_ ? static_cast<int64_t>(current(epoch).plan->batches.size()) : per_epoch_;
}

plan::BatchContext EpochPlanner::context(int64_t epoch, int64_t position) const {
  return {epoch, session_.config.epochs, schedule_.at(epoch, position)};
}

void EpochPlanner::annotate(data::Batch& batch) {
  if (!rule_ || !rule_.by_loss || batch.empty()) return;
  const Current& now = current(batch.epoch);
  const auto& part = now.plan->batches.at(static_cast<size_t>(batch.position));
  batch.examples = now.order.narrow(0, part.begin, part.count);
  if (now.weights.defined()) batch.weights = now.weights.narrow(0, part.begin, part.count);
}

// As if the losses were all different, in any order.
int64_t EpochPlanner::expected_examples(int64_t epoch) const {
  if (!rule_) return examples_;
  std::vector<float> losses(static_cast<size_t>(examples_));
  std::iota(losses.begin(), losses.end(), 0.0F);
  const auto draws =
      plan::selection_draws(static_cast<uint64_t>(session_.config.seed), 0, examples_);
  const plan::SelectionCase now{losses, draws, epoch, session_.config.epochs};
  const auto weights = rule_.weights(session_.config, now);
  return examples_ - std::count(weights.begin(), weights.end(), 0.0F);
}

std::vector<EpochPlanner::Stage> EpochPlanner::stages() const {
  const int64_t epochs = session_.config.epochs;
  std::vector<int64_t> bounds = method_.batch_plan().turns_in(epochs);
  if (rule_) {
    for (const int64_t turn : plan::selection_turns(session_.config, epochs))
      bounds.push_back(turn);
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

bool EpochPlanner::follows_length() const {
  return (rule_ && rule_.by_loss) || !method_.batch_plan().turns_in(session_.config.epochs).empty();
}

bool EpochPlanner::leaves_nothing_out() const {
  if (!rule_ || !rule_.by_loss) return false;
  const auto all = stages();
  return std::none_of(all.begin(), all.end(),
                      [&](const Stage& stage) { return stage.examples < examples_; });
}

double EpochPlanner::progress(int64_t epoch, int64_t position) {
  const auto e = static_cast<double>(epoch), epochs = static_cast<double>(session_.config.epochs);
  double within = 0;
  if (position > 0 && planned_) {
    const auto& parts = current(epoch).plan->batches;
    const auto seen = parts.at(static_cast<size_t>(position)).begin;
    within =
        static_cast<double>(seen) / static_cast<double>(parts.back().begin + parts.back().count);
  } else if (position > 0) {
    within = static_cast<double>(position) / static_cast<double>(per_epoch_);
  }
  if (!rule_) return (e + within) / epochs;
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

EpochPlanner::Counts EpochPlanner::foreseen_epoch(const method::Costs& costs,
                                                  const Stage& stage) const {
  Counts out;
  std::vector<data::EpochPlan::Part> batches(static_cast<size_t>(per_epoch_),
                                             {0, session_.config.batch});
  if (planned_) batches = parts(stage.begin, stage.examples);
  for (size_t i = 0; i < batches.size(); ++i) {
    const plan::BatchContext when = context(stage.begin, static_cast<int64_t>(i));
    ++(when.cheap() ? out.gp : out.bp);
    out.macs += method_.cost(session_, costs, when, batches[i].count);
  }
  return out;
}

EpochPlanner::Counts EpochPlanner::foreseen(const method::Costs& costs) const {
  Counts out;
  for (const Stage& stage : stages()) {
    const Counts each = foreseen_epoch(costs, stage);
    const int64_t epochs = stage.end - stage.begin;
    out.bp += each.bp * epochs;
    out.gp += each.gp * epochs;
    out.macs += each.macs * static_cast<double>(epochs);
  }
  return out;
}

std::map<std::string, at::Tensor> EpochPlanner::state() const {
  if (!rule_ || !rule_.by_loss) return {};
  std::map<std::string, at::Tensor> out{{"losses", session_.stored_losses}};
  if (current_.epoch >= 0) {
    out["chosen"] = to_device(chosen_, at::kFloat, at::kCPU);
    out["epoch"] = at::tensor(current_.epoch, at::kLong);
  }
  return out;
}

void EpochPlanner::load_state(const std::map<std::string, at::Tensor>& state) {
  if (!rule_ || !rule_.by_loss) return;
  const auto table = [&](const std::string& name) {
    const auto found = state.find(name);
    if (found == state.end()) throw DataError("checkpoint: no table of the examples' " + name);
    if (found->second.numel() != examples_) {
      throw DataError(core::cat("checkpoint: ", found->second.numel(), " stored ", name,
                                ", and the data set has ", examples_,
                                " training examples: it is not the one this run began with"));
    }
    return found->second;
  };
  session_.stored_losses.copy_(table("losses"));
  const auto epoch = state.find("epoch");
  if (epoch != state.end())
    lay_out(chance(epoch->second.item<int64_t>()), to_host(table("chosen")));
}

}  // namespace adagp::train

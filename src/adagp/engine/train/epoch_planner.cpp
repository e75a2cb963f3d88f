#include "adagp/engine/train/epoch_planner.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/step/team.h"

namespace adagp::train {
namespace {

std::vector<float> to_host(const at::Tensor& values) {
  const at::Tensor host = values.to(at::kCPU, at::kFloat).contiguous();
  const auto* first = host.const_data_ptr<float>();
  return {first, first + host.numel()};
}

// On a thread, or where none can be started when it is asked for.
constexpr auto kAhead = std::launch::async | std::launch::deferred;

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
      plan_(session.config, std::move(schedule), method.batch_plan(), std::move(rule),
            session.task->train_size()) {
  if (!planned()) return;
  method::require_whole_network(session);
  method::require_losses(session);
  if (may_be_unlike()) session.team->expect_unlike_shares(session.config);
  if (!keeps_losses()) return;
  session.stored_losses = at::full({plan_.examples()}, plan::kUnseen,
                                   at::TensorOptions(session.device).dtype(at::kFloat));
  if (!session.team->solo()) joined_ = session.stored_losses.clone();
}

data::Planner EpochPlanner::planner() {
  if (!planned()) return {};
  return [this](int64_t epoch) { return current(epoch).plan; };
}

std::shared_ptr<const plan::EpochPlan> EpochPlanner::epoch_plan(int64_t epoch) {
  if (planned()) return current(epoch).plan;
  return std::make_shared<plan::EpochPlan>(plan_.lay_out(plan_.chance(epoch), {}));
}

void EpochPlanner::lay_out(plan::RunPlan::Chance chance, const std::vector<float>& weights) {
  chosen_ = weights;
  const int64_t epoch = chance.epoch;
  auto plan = std::make_shared<plan::EpochPlan>(plan_.lay_out(std::move(chance), weights));
  check_shares(epoch, *plan);
  current_ = {epoch, plan, {}, {}};
  if (!plan_.rule()) return;
  current_.order = to_device(plan->order, at::kLong, session_.device);
  const auto counts_once = [](float weight) { return weight == 0 || weight == 1; };
  if (std::all_of(weights.begin(), weights.end(), counts_once)) return;
  std::vector<float> in_order;
  for (const int64_t i : plan->order) in_order.push_back(weights[static_cast<size_t>(i)]);
  current_.weights = to_device(in_order, at::kFloat, session_.device);
}

bool EpochPlanner::may_be_unlike() const {
  const int64_t copies = session_.team->copies();
  if (copies == 1) return false;
  if (plan_.rule()) return true;  // what it keeps may be less than a batch
  const auto stages = plan_.stages();
  return std::any_of(stages.begin(), stages.end(), [&](const plan::RunPlan::Stage& stage) {
    const auto parts = plan_.parts(stage.begin, stage.examples);
    return std::any_of(parts.begin(), parts.end(),
                       [&](const auto& part) { return part.count % copies != 0; });
  });
}

void EpochPlanner::check_shares(int64_t epoch, const plan::EpochPlan& plan) const {
  const int64_t copies = session_.team->copies();
  for (const auto& part : plan.batches) {
    if (part.count >= copies) continue;
    throw UsageError(core::cat("method ", session_.config.method, ": a batch of epoch ", epoch + 1,
                               " has ", part.count, part.count == 1 ? " example" : " examples",
                               ", and ", copies, " processes need one each; go on with at most ",
                               part.count, ", or keep more examples"));
  }
}

// Only the process that sees an example changes its loss, so that at most one has changed bits at a
// place. Those add up exactly; losses would not (-0 + 0 is 0), and the largest of several numbers
// is none of them where one is NaN.
void EpochPlanner::join_losses() {
  if (!joined_.defined()) return;
  at::Tensor bits = session_.stored_losses.view(at::kInt), before = joined_.view(at::kInt);
  at::Tensor changed = at::bitwise_xor(bits, before);
  session_.team->sum_over_copies(changed, "losses of the examples");
  before.bitwise_xor_(changed);
  bits.copy_(before);
  session_.team->settle();  // the host reads them next
}

const EpochPlanner::Current& EpochPlanner::current(int64_t epoch) {
  if (current_.epoch == epoch) return current_;
  plan::RunPlan::Chance now = ahead_.valid() ? ahead_.get() : plan_.chance(epoch);
  if (now.epoch != epoch) now = plan_.chance(epoch);
  join_losses();
  std::vector<float> losses = keeps_losses()
                                  ? to_host(session_.stored_losses)
                                  : std::vector<float>(static_cast<size_t>(plan_.examples()));
  const std::vector<float> weights = plan_.weights(now, std::move(losses));
  lay_out(std::move(now), weights);
  ahead_ = std::async(kAhead, [this, epoch] { return plan_.chance(epoch + 1); });
  return current_;
}

int64_t EpochPlanner::batches(int64_t epoch) {
  return planned() ? static_cast<int64_t>(current(epoch).plan->batches.size()) : per_epoch_;
}

plan::BatchContext EpochPlanner::context(int64_t epoch, int64_t position) const {
  return plan_.context(epoch, position);
}

void EpochPlanner::annotate(data::Batch& batch) {
  if (!keeps_losses() || batch.empty()) return;
  const Current& now = current(batch.epoch);
  const auto part = now.plan->batches.at(static_cast<size_t>(batch.position))
                        .share(session_.team->rank(), session_.team->copies());
  batch.examples = now.order.narrow(0, part.begin, part.count);
  if (now.weights.defined()) batch.weights = now.weights.narrow(0, part.begin, part.count);
}

bool EpochPlanner::follows_length() const {
  return keeps_losses() || !plan_.batch_plan().turns_in(session_.config.epochs).empty();
}

bool EpochPlanner::leaves_nothing_out() const {
  if (!keeps_losses()) return false;
  const auto all = plan_.stages();
  return std::none_of(all.begin(), all.end(), [&](const plan::RunPlan::Stage& stage) {
    return stage.examples < plan_.examples();
  });
}

double EpochPlanner::progress(int64_t epoch, int64_t position) {
  double within = 0;
  if (position > 0 && planned()) {
    within = plan::share_before(*current(epoch).plan, position);
  } else if (position > 0) {
    within = static_cast<double>(position) / static_cast<double>(per_epoch_);
  }
  return plan_.progress(epoch, within);
}

EpochPlanner::Counts EpochPlanner::foreseen_epoch(const method::Costs& costs,
                                                  const plan::RunPlan::Stage& stage) const {
  Counts out;
  std::vector<plan::EpochPlan::Part> batches(static_cast<size_t>(per_epoch_),
                                             {0, session_.config.batch});
  if (planned()) batches = plan_.parts(stage.begin, stage.examples);
  for (size_t i = 0; i < batches.size(); ++i) {
    const plan::BatchContext when = context(stage.begin, static_cast<int64_t>(i));
    ++(when.cheap() ? out.gp : out.bp);
    out.macs += method_.cost(session_, costs, when, batches[i].count);
  }
  return out;
}

EpochPlanner::Counts EpochPlanner::foreseen(const method::Costs& costs) const {
  Counts out;
  for (const plan::RunPlan::Stage& stage : plan_.stages()) {
    const Counts each = foreseen_epoch(costs, stage);
    const int64_t epochs = stage.end - stage.begin;
    out.bp += each.bp * epochs;
    out.gp += each.gp * epochs;
    out.macs += each.macs * static_cast<double>(epochs);
  }
  return out;
}

std::map<std::string, at::Tensor> EpochPlanner::state() const {
  if (!keeps_losses()) return {};
  std::map<std::string, at::Tensor> out{{"losses", session_.stored_losses}};
  if (current_.epoch >= 0) {
    out["chosen"] = to_device(chosen_, at::kFloat, at::kCPU);
    out["epoch"] = at::tensor(current_.epoch, at::kLong);
  }
  return out;
}

void EpochPlanner::load_state(const std::map<std::string, at::Tensor>& state) {
  if (!keeps_losses()) return;
  const auto table = [&](const std::string& name) {
    const auto found = state.find(name);
    if (found == state.end()) throw DataError("checkpoint: no table of the examples' " + name);
    if (found->second.numel() != plan_.examples()) {
      throw DataError(core::cat("checkpoint: ", found->second.numel(), " stored ", name,
                                ", and the data set has ", plan_.examples(),
                                " training examples: it is not the one this run began with"));
    }
    return found->second;
  };
  session_.stored_losses.copy_(table("losses"));
  if (joined_.defined()) joined_.copy_(session_.stored_losses);
  const auto epoch = state.find("epoch");
  if (epoch != state.end())
    lay_out(plan_.chance(epoch->second.item<int64_t>()), to_host(table("chosen")));
}

}  // namespace adagp::train

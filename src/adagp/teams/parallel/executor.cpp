#include "adagp/teams/parallel/executor.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/nn/batch_norm.h"
#include "adagp/engine/nn/gradient_queue.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/engine/step/generators.h"
#include "adagp/engine/step/micro_batches.h"
#include "adagp/engine/step/team.h"
#include "adagp/engine/task/loss.h"
#include "adagp/gpu/device/autocast.h"
#include "adagp/gpu/device/kernels.h"
#include "adagp/teams/comm/message.h"

namespace adagp::parallel {

using pipeline::Kind;
using pipeline::Op;

struct Executor::State {
  step::Session& session;
  pipeline::Phase phase;
  nn::TapSink* tap;  // null: none
  std::vector<data::Batch> parts;
  double weight = 1;  // of the loss of this pipeline's batch
  int64_t examples = 0;
  step::StepResult result = {};
  std::map<Key, models::Tensors> arrived = {};    // activations, by the stage that wants them
  std::map<Key, models::Tensors> gradients = {};  // of a stage's outputs, as they arrived
  std::map<Key, Kept> kept = {};                  // what the backward pass needs
  std::map<Key, std::shared_ptr<nn::PutOffGradients>> put_off = {};  // weight gradients
  std::map<Key, models::Tensors> outgoing = {};             // gradients of a stage's inputs
  std::map<const Op*, comm::PendingReceive> expected = {};  // receives that are already asked for
  bool fixed = true;                                        // all batches have the same shapes

  bool exact() const { return phase == pipeline::Phase::kBackprop; }
  const data::Batch& part(const Op& op) const { return parts.at(static_cast<size_t>(op.micro)); }
  double share(const Op& op) const {
    return static_cast<double>(part(op).size()) / static_cast<double>(examples);
  }
  const std::shared_ptr<nn::PutOffGradients>& put_off_of(const Key& key) {
    auto& queue = put_off[key];
    if (!queue) queue = std::make_shared<nn::PutOffGradients>();
    return queue;
  }
};

namespace {

void wait_for_all(comm::Transfers& transfers) {
  for (auto& transfer : transfers) transfer->wait();
}

// Without a graph nothing tells which of them will have gradients: all may.
void expect_gradients(models::Tensors& outputs) {
  for (at::Tensor& output : outputs) {
    if (output.is_floating_point()) output = output.detach().requires_grad_();
  }
}

// There is a gradient of each such output: those whose graph does not want one go.
void leave_out_constants(const models::Tensors& outputs, models::Tensors& gradients) {
  models::Tensors wanted;
  size_t next = 0;
  for (const at::Tensor& output : outputs) {
    if (!output.is_floating_point()) continue;
    if (output.requires_grad()) wanted.push_back(gradients.at(next));
    ++next;
  }
  gradients = std::move(wanted);
}

// The tags of a batch's messages are ints (Executor::line).
void check_tags(const pipeline::Placement& placement) {
  const int64_t lines = (int64_t{placement.stages} + 1) * placement.replicas;
  constexpr int64_t kEach = int64_t{2} * comm::kTags;  // both directions of a line's micro-batch
  constexpr int64_t kMost = std::numeric_limits<int>::max() / kEach;
  if (placement.micro_batches <= kMost / lines) return;
  throw UsageError(
      core::cat(placement.stages, " stages of ", placement.replicas,
                placement.replicas == 1 ? " copy" : " copies", " with ", placement.micro_batches,
                " micro-batches have more messages than there are tags for; ", "at most ",
                kMost / lines, " micro-batches can be told apart: lower accumulate"));
}

}  // namespace

Executor::Executor(const pipeline::Placement& placement, const layers::Stages& stages,
                   comm::Group* pipe, int device, const Options& options)
    : placement_(placement),
      splits_backward_(placement.schedule == "zero-bubble"),
      recompute_(options.recompute),
      stages_(stages),
      pipe_(pipe),
      device_(device),
      timings_(options.timings, device) {
  check_tags(placement_);
  for (int replica = 0; replica < placement_.replicas; ++replica) {
    for (int stage = 0; stage < placement_.stages; ++stage) {
      if (placement_.device_of(stage, replica) == device_) own_.push_back(stage);
    }
  }
  std::sort(own_.begin(), own_.end());
  own_.erase(std::unique(own_.begin(), own_.end()), own_.end());
  for (const auto phase : {pipeline::Phase::kBackprop, pipeline::Phase::kPredict}) {
    ops_[phase] = pipeline::batch_ops(placement_, device_, phase);
  }
}

bool Executor::needs_batches() const {
  return std::any_of(own_.begin(), own_.end(), [&](int s) { return s == 0 || last(s); });
}

step::StepResult Executor::run(step::Session& session, const data::Batch& batch,
                               pipeline::Phase phase, bool tapped) {
  sent_.emplace_back();
  if (sent_.size() > 2) {
    const double begin = OpTimings::now();
    for (auto& [parcel, transfers] : sent_.front()) wait_for_all(transfers);
    sent_.pop_front();
    Op waiting;
    waiting.kind = Kind::kSend;
    waiting.micro = -1;
    waiting.stage = own_.front();
    timings_.add(waiting, phase, batches_, begin, OpTimings::now());
  }
  State state{session, phase, tapped ? session.summaries.get() : nullptr, {}};
  if (!batch.empty()) {
    state.parts = step::micro_batches(batch, placement_.micro_batches);
    state.weight = session.team->weight_of(batch);
    state.examples = batch.size();
  }
  state.result.targets = batch.targets;
  if (tapped) session.summaries->begin(placement_.micro_batches / placement_.replicas);
  state.fixed = session.task->kind() != models::TaskKind::kTranslation;
  const pipeline::OpList& ops = ops_.at(phase);
  for (size_t i = 0; i < ops.size(); ++i) {
    // A small batch has fewer parts.
    const bool none = placement_.stages == 1 && ops[i].micro >= std::ssize(state.parts);
    if (none) continue;
    if (state.fixed) expect(state, ops, i);
    const double begin = timings_.on() ? OpTimings::now() : 0;
    run_op(state, ops[i]);
    if (timings_.on()) timings_.add(ops[i], phase, batches_, begin, OpTimings::now());
  }
  if (tapped) session.summaries->end();
  ++batches_;
  return std::move(state.result);
}

void Executor::run_op(State& state, const Op& op) {
  const Key key{op.stage, op.micro};
  switch (op.kind) {
    case Kind::kForward:
      forward(state, op);
      break;
    case Kind::kBackward:
    case Kind::kInputGradient:
      backward(state, op);
      break;
    case Kind::kWeightGradient:
      state.put_off.at(key)->run();
      state.put_off.erase(key);
      step::gather_bf16_gradients(state.session);
      break;
    case Kind::kSend:
      send(state, op);
      break;
    case Kind::kReceive:
      receive(state, op);
      break;
    case Kind::kAllReduce:
    case Kind::kOptimizer:
    case Kind::kPredictUpdate:
      break;  // of the whole batch: the team and the method do it
  }
}

models::Tensors Executor::run_blocks(step::Session& session, int stage,
                                     const models::Tensors& inputs) {
  const device::AutocastScope autocast(session.device, session.bf16);
  if (placement_.stages == 1) return step::run_net(session, inputs);
  return dynamic_cast<models::BlockNet&>(*session.net)
      .run_part(inputs, stages_.first.at(stage), stages_.first.at(stage + 1));
}

void Executor::forward(State& state, const Op& op) {
  const Key key{op.stage, op.micro};
  const bool again = state.exact() && recompute_;
  const at::AutoGradMode mode(state.exact() && !again);
  Kept kept;
  if (op.stage == 0) {
    kept.inputs = state.part(op).inputs;
  } else {
    kept.inputs = std::move(state.arrived.at(key));
    state.arrived.erase(key);
  }
  if (again) kept.random = step::generator_state(*state.session.team, state.session.device);
  {
    std::optional<nn::TapScope> taps;
    if (state.tap != nullptr) taps.emplace(*state.tap);
    std::optional<nn::QueueScope> queue;
    if (state.exact() && splits_backward_) {
      queue.emplace(state.put_off_of(key));
    } else if (state.exact() && !again && placement_.stages == 1) {
      kept.beside = std::make_shared<nn::SideGradients>(state.session.device);
      queue.emplace(kept.beside);
    }
    kept.outputs = run_blocks(state.session, op.stage, kept.inputs);
  }
  if (last(op.stage)) {
    kept.loss = state.session.loss(kept.outputs, state.part(op), state.exact() && !again);
    state.result.add(kept.loss.value.detach(), state.share(op));
    step::append(state.result.outputs, kept.outputs);
  } else if (again) {
    expect_gradients(kept.outputs);
  }
  const bool next_is_here =
      !last(op.stage) && placement_.device_of(op.stage + 1, op.replica) == device_;
  if (next_is_here) {
    models::Tensors& here = state.arrived[{op.stage + 1, op.micro}];
    for (const at::Tensor& output : kept.outputs) {
      here.push_back(output.detach());
      if (output.requires_grad()) here.back().requires_grad_();
    }
  }
  if (again && (last(op.stage) || next_is_here)) kept.outputs.clear();
  if (state.exact() || !last(op.stage)) state.kept[key] = std::move(kept);
}

void Executor::run_again(State& state, const Op& op, Kept& kept) {
  step::Session& session = state.session;
  // The first pass has moved the statistics and drawn the random numbers.
  const nn::KeepStatistics statistics;
  const io::TensorMap now = step::generator_state(*session.team, session.device);
  step::load_generator_state(*session.team, session.device, kept.random);
  {
    std::optional<nn::QueueScope> queue;
    if (splits_backward_) queue.emplace(state.put_off_of({op.stage, op.micro}));
    kept.outputs = run_blocks(session, op.stage, kept.inputs);
  }
  step::load_generator_state(*session.team, session.device, now);
  if (!last(op.stage)) return;
  task::RunningMetrics counted(session.device, device::has_kernels(session.device));
  kept.loss = session.task->loss(session.config, counted, kept.outputs, state.part(op).targets, {});
}

void Executor::backward(State& state, const Op& op) {
  const Key key{op.stage, op.micro};
  Kept kept = std::move(state.kept.at(key));
  state.kept.erase(key);
  if (recompute_) run_again(state, op, kept);
  if (last(op.stage)) {
    task::backward(kept.loss, kept.outputs, state.share(op) * state.weight, state.part(op).weights);
  } else {
    models::Tensors gradients = std::move(state.gradients.at(key));
    state.gradients.erase(key);
    if (recompute_) leave_out_constants(kept.outputs, gradients);
    torch::autograd::backward(models::differentiable(kept.outputs), gradients);
  }
  if (kept.beside) kept.beside->join();
  // Of a whole batch and network they stay in bf16, as in a process alone.
  const bool whole = placement_.stages == 1 && state.parts.size() == 1;
  if (op.kind == Kind::kBackward && !whole) step::gather_bf16_gradients(state.session);
  if (op.stage == 0) return;
  models::Tensors inputs = models::differentiable(kept.inputs);
  models::Tensors found;
  for (at::Tensor& input : inputs) {
    found.push_back(input.grad().defined() ? input.grad() : at::zeros_like(input.detach()));
  }
  if (placement_.device_of(op.stage - 1, op.replica) == device_) {
    state.gradients[{op.stage - 1, op.micro}] = std::move(found);
  } else {
    state.outgoing[key] = std::move(found);
  }
}

// Tags tell the boundary (by the stage after it), the replica, the micro-batch and the direction.
comm::Route Executor::line(const Op& op) const {
  const bool before = (op.kind == Kind::kSend) == op.gradient;  // the boundary before this stage
  const int boundary = before ? op.stage : op.stage + 1;
  const int place =
      (boundary * placement_.replicas + op.replica) * placement_.micro_batches + op.micro;
  return {*pipe_, op.peer, (place * 2 + (op.gradient ? 1 : 0)) * comm::kTags,
          core::cat(op.gradient ? "gradients" : "activations", " of micro-batch ", op.micro,
                    " at stage ", op.stage, ", batch ", batches_)};
}

void Executor::expect(State& state, const pipeline::OpList& ops, size_t from) {
  constexpr int kAhead = 2;
  int found = 0;
  for (size_t i = from; i < ops.size() && found < kAhead; ++i) {
    if (ops[i].kind != Kind::kReceive) continue;
    ++found;
    if (state.expected.contains(&ops[i])) continue;
    const comm::Route from_peer = line(ops[i]);
    const auto known = specs_.find({state.phase, from_peer.tag});
    if (known == specs_.end()) return;  // its form is still to come, with the first message
    state.expected.emplace(&ops[i],
                           comm::PendingReceive(from_peer, known->second, state.session.device));
  }
}

void Executor::send(State& state, const Op& op) {
  const Key key{op.stage, op.micro};
  models::Tensors tensors;
  if (op.gradient) {
    tensors = std::move(state.outgoing.at(key));
    state.outgoing.erase(key);
  } else {
    Kept& kept = state.kept.at(key);
    tensors = kept.outputs;
    if (recompute_) kept.outputs.clear();
    if (!state.exact()) state.kept.erase(key);
  }
  const comm::Route to_peer = line(op);
  comm::Transfers& transfers = sent_.back()[{op.gradient, key}];
  const comm::TensorSpecs specs = comm::specs_of(tensors);
  const auto known = specs_.find({state.phase, to_peer.tag});
  if (known == specs_.end()) {
    comm::send_specs(to_peer, specs, transfers);
    if (state.fixed) specs_[{state.phase, to_peer.tag}] = specs;
  } else if (known->second != specs) {
    throw Error(core::cat(to_peer.doing, ": their shapes are not those of the batches before"));
  }
  comm::send_tensors(to_peer, tensors, transfers);
}

void Executor::receive(State& state, const Op& op) {
  const Key key{op.stage, op.micro};
  auto expected = state.expected.find(&op);
  if (expected == state.expected.end()) {
    const comm::Route from_peer = line(op);
    const comm::TensorSpecs specs = comm::receive_specs(from_peer);
    if (state.fixed) specs_[{state.phase, from_peer.tag}] = specs;
    expected =
        state.expected.emplace(&op, comm::PendingReceive(from_peer, specs, state.session.device))
            .first;
  }
  models::Tensors tensors = expected->second.take(state.exact() && !op.gradient);
  state.expected.erase(expected);
  (op.gradient ? state.gradients : state.arrived)[key] = std::move(tensors);
  forget_answered(op);
}

// A gradient answers the activations of its micro-batch. The stage before sends the activations of
// a batch when it has all gradients of the batches before.
void Executor::forget_answered(const Op& op) {
  const auto forget_if = [](auto& batch, const auto& answered) {
    for (auto sent = batch.begin(); sent != batch.end();) {
      if (answered(sent->first)) wait_for_all(sent->second);
      sent = answered(sent->first) ? batch.erase(sent) : std::next(sent);
    }
  };
  const Key key{op.stage, op.micro};
  if (op.gradient) {
    forget_if(sent_.back(), [&](const Parcel& p) { return !p.gradient && p.key == key; });
    return;
  }
  for (auto batch = sent_.begin(); std::next(batch) != sent_.end(); ++batch) {
    forget_if(*batch, [&](const Parcel& p) { return p.gradient && p.key.stage == op.stage; });
  }
}

}  // namespace adagp::parallel

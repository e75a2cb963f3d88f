#include "adagp/engine/step/exact_step.h"

#include <optional>

#include <ATen/ATen.h>

#include "adagp/engine/nn/gradient_queue.h"
#include "adagp/engine/nn/side_gradients.h"
#include "adagp/engine/step/micro_batches.h"
#include "adagp/engine/step/taps.h"
#include "adagp/engine/step/team.h"
#include "adagp/engine/task/loss.h"
#include "adagp/gpu/device/autocast.h"
#include "adagp/gpu/device/side_stream.h"

namespace adagp::step {
namespace {

// The joint norm of gradients that lie with several processes.
void clip_together(Session& s) {
  std::vector<at::Tensor> gradients;
  at::Tensor squares = at::zeros({}, at::device(s.device).dtype(at::kDouble));
  for (size_t i = 0; i < s.optimizer->params().size(); ++i) {
    const at::Tensor found = s.optimizer->gradient(i);
    if (!found.defined()) continue;
    gradients.push_back(found);
    if (!s.team->counts(s.optimizer->params()[i].name)) continue;
    squares.add_(at::linalg_vector_norm(found, 2, {}, false, at::kDouble).square());
  }
  std::vector<at::Tensor> all{squares};
  s.team->sum_over_stages(all);
  const at::Tensor scale = (s.config.clip / (all[0].sqrt() + 1e-6)).clamp_max(1.0);
  for (const at::Tensor& gradient : gradients) gradient.mul_(scale.to(gradient.scalar_type()));
}

void move_weights(Session& s) {
  if (s.config.clip > 0) {
    if (s.team->splits_layers()) {
      clip_together(s);
    } else {
      s.optimizer->clip(s.config.clip);
    }
  }
  s.optimizer->step();
}

}  // namespace

models::Tensors run_net(Session& s, const models::Tensors& inputs) {
  if (s.first_block == 0) return s.net->run(inputs);
  const auto& blocks = dynamic_cast<const models::BlockNet&>(*s.net).blocks();
  const bool graphs = at::GradMode::is_enabled();
  models::Tensors x = inputs;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const at::AutoGradMode graph(graphs && static_cast<int64_t>(i) >= s.first_block);
    x = blocks[i].run(x);
  }
  return x;
}

void gather_bf16_gradients(Session& s) {
  const at::NoGradGuard no_grad;
  for (const auto& param : s.optimizer->params()) {
    if (!param.bf16_copy.defined() || !param.bf16_copy.grad().defined()) continue;
    nn::add_gradient(param.value, param.bf16_copy.grad());
    param.bf16_copy.mutable_grad().reset();
  }
}

StepResult backprop(Session& s, const data::Batch& batch, bool tapped) {
  s.check_intact();
  return s.team->backprop(s, batch, tapped);
}

StepResult SoloTeam::backprop(Session& s, const data::Batch& batch, bool tapped) {
  std::optional<Taps> taps;
  if (tapped) taps.emplace(s, s.config.accumulate);
  StepResult result;
  result.targets = batch.targets;
  const auto size = static_cast<double>(batch.size());
  for (const data::Batch& part : micro_batches(batch, s.config.accumulate)) {
    models::Tensors outputs;
    const auto beside = std::make_shared<nn::SideGradients>(s.device);
    {
      const device::AutocastScope autocast(s.device, s.bf16);
      const nn::QueueScope queue(beside);
      const nn::KeptValuesScope kept(s.kept_values());
      outputs = run_net(s, part.inputs);
    }
    const task::Loss loss = s.loss(outputs, part, true);
    const double share = static_cast<double>(part.size()) / size;
    backward(loss, outputs, share, part.weights);
    beside->join();
    if (share != 1) gather_bf16_gradients(s);
    result.add(loss.value.detach(), share);
    append(result.outputs, outputs);
  }
  if (taps) taps->end();
  return result;
}

void update(Session& s) {
  const at::NoGradGuard no_grad;
  move_weights(s);
  s.optimizer->clear_gradients();
}

void learn_and_update(Session& s, const std::function<void()>& learn) {
  const at::NoGradGuard no_grad;
  device::SideStream beside(s.device);
  // The predictor looks at gradients and at nothing that an update changes; the kernels of the
  // update leave gradients as they are.
  if (s.can_work_beside()) {
    beside.set_start();
    learn();  // queued first, which costs it less in a CUDA graph
    beside.run([&] { move_weights(s); });
    beside.join();
  } else {
    learn();
    move_weights(s);
  }
  s.optimizer->clear_gradients();
}

StepResult backprop_step(Session& s, const data::Batch& batch) {
  const StepResult result = backprop(s, batch);
  update(s);
  return result;
}

}  // namespace adagp::step

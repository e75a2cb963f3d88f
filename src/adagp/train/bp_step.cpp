#include "adagp/train/bp_step.h"

#include <optional>

#include <ATen/ATen.h>

#include "adagp/train/loss.h"
#include "adagp/train/parts.h"
#include "adagp/train/precision.h"
#include "adagp/train/team.h"

namespace adagp::train {
namespace {

// The joint norm of gradients that lie with several processes.
void clip_together(Session& s) {
  std::vector<at::Tensor> gradients;
  at::Tensor squares = at::zeros({}, at::device(s.device).dtype(at::kDouble));
  for (const auto& param : s.optimizer->params()) {
    const at::Tensor& found =
        param.low.defined() && param.low.grad().defined() ? param.low.grad() : param.value.grad();
    if (!found.defined()) continue;
    gradients.push_back(found);
    squares.add_(at::linalg_vector_norm(found, 2, {}, false, at::kDouble).square());
  }
  std::vector<at::Tensor> all{squares};
  s.team->sum_over_stages(all);
  const at::Tensor scale = (s.config.clip / (all[0].sqrt() + 1e-6)).clamp_max(1.0);
  for (const at::Tensor& gradient : gradients) gradient.mul_(scale.to(gradient.scalar_type()));
}

}  // namespace

void gather_low(Session& s) {
  const at::NoGradGuard no_grad;
  for (const auto& param : s.optimizer->params()) {
    if (!param.low.defined() || !param.low.grad().defined()) continue;
    at::Tensor& sum = param.value.mutable_grad();
    if (sum.defined()) {
      sum.add_(param.low.grad());
    } else {
      sum = at::empty_like(param.value.detach()).copy_(param.low.grad());
    }
    param.low.mutable_grad().reset();
  }
}

StepResult backprop(Session& s, const data::Batch& batch, bool tapped) {
  if (s.team) return s.team->backprop(s, batch, tapped);
  std::optional<nn::TapScope> taps;
  if (tapped) {
    s.summaries->begin(s.config.accumulate);
    taps.emplace(*s.summaries);
  }
  StepResult result;
  result.targets = batch.targets;
  const auto size = static_cast<double>(batch.size());
  for (const data::Batch& part : in_parts(batch, s.config.accumulate)) {
    models::Tensors outputs;
    {
      const AutocastScope autocast(s.device, s.bf16());
      outputs = s.net->run(part.inputs);
    }
    const Loss loss = s.loss(outputs, part.targets, true);
    const double share = static_cast<double>(part.size()) / size;
    backward(loss, outputs, share);
    if (share != 1) gather_low(s);
    result.add(loss.value.detach(), share);
    append(result.outputs, outputs);
  }
  if (tapped) s.summaries->end();
  return result;
}

void update(Session& s) {
  const at::NoGradGuard no_grad;
  if (s.config.clip > 0) {
    if (s.team && s.team->splits_layers()) {
      clip_together(s);
    } else {
      s.optimizer->clip(s.config.clip);
    }
  }
  s.optimizer->step();
  s.optimizer->clear_gradients();
}

StepResult bp_step(Session& s, const data::Batch& batch) {
  const StepResult result = backprop(s, batch);
  update(s);
  return result;
}

}  // namespace adagp::train

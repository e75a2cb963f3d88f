#include "adagp/train/bp_step.h"

#include <algorithm>
#include <optional>

#include <ATen/ATen.h>

#include "adagp/train/loss.h"
#include "adagp/train/precision.h"

namespace adagp::train {
namespace {

// Micro-batches are added up in fp32: bf16 gradients would lose the small ones.
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

// The outputs of a batch that came in parts.
void append(models::Tensors& all, const models::Tensors& part) {
  if (all.empty()) all.resize(part.size());
  for (size_t i = 0; i < part.size(); ++i) {
    all[i] = all[i].defined() ? at::cat({all[i], part[i].detach()}) : part[i].detach();
  }
}

}  // namespace

StepResult backprop(Session& s, const data::Batch& batch, bool tapped) {
  std::optional<nn::TapScope> taps;
  if (tapped) {
    s.summaries->begin(s.config.accumulate);
    taps.emplace(*s.summaries);
  }
  StepResult result;
  result.targets = batch.targets;
  const int64_t size = batch.size();
  const int64_t each = (size + s.config.accumulate - 1) / s.config.accumulate;
  for (int64_t begin = 0; begin < size; begin += each) {
    const int64_t count = std::min(each, size - begin);
    const data::Batch part = count == size ? batch : batch.part(begin, count);
    models::Tensors outputs;
    {
      const AutocastScope autocast(s.device, s.bf16());
      outputs = s.net->run(part.inputs);
    }
    const Loss loss = s.loss(outputs, part.targets, true);
    const double share = static_cast<double>(count) / static_cast<double>(size);
    backward(loss, outputs, share);
    if (count < size) gather_low(s);
    const at::Tensor value = share == 1 ? loss.value.detach() : loss.value.detach() * share;
    result.loss = begin == 0 ? value : result.loss + value;
    append(result.outputs, outputs);
  }
  if (tapped) s.summaries->end();
  return result;
}

void update(Session& s) {
  const at::NoGradGuard no_grad;
  if (s.config.clip > 0) s.optimizer->clip(s.config.clip);
  s.optimizer->step();
  s.optimizer->clear_gradients();
}

StepResult bp_step(Session& s, const data::Batch& batch) {
  const StepResult result = backprop(s, batch);
  update(s);
  return result;
}

}  // namespace adagp::train

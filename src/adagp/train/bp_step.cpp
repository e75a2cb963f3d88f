#include "adagp/train/bp_step.h"

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

}  // namespace

StepResult backprop(Session& s, const data::Batch& batch, bool tapped) {
  std::optional<nn::TapScope> taps;
  if (tapped) {
    s.summaries->begin(s.config.accumulate);
    taps.emplace(*s.summaries);
  }
  StepResult result;
  result.labels = batch.labels;
  const auto images = batch.images.chunk(s.config.accumulate);
  const auto labels = batch.labels.chunk(s.config.accumulate);
  std::vector<at::Tensor> logits;
  for (size_t part = 0; part < images.size(); ++part) {
    {
      const AutocastScope autocast(s.device, s.bf16());
      logits.push_back(s.net->forward(images[part]));
    }
    const Loss loss =
        take_loss(s.tally, s.config.label_smoothing, logits.back(), labels[part], true);
    const double share =
        static_cast<double>(images[part].size(0)) / static_cast<double>(batch.images.size(0));
    backward(loss, logits.back(), share);
    if (images.size() > 1) gather_low(s);
    const at::Tensor value = share == 1 ? loss.value.detach() : loss.value.detach() * share;
    result.loss = part == 0 ? value : result.loss + value;
  }
  if (tapped) s.summaries->end();
  result.logits = logits.size() == 1 ? logits[0].detach() : at::cat(logits).detach();
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

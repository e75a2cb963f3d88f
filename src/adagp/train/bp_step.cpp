#include "adagp/train/bp_step.h"

#include <optional>

#include <ATen/ATen.h>

#include "adagp/train/precision.h"

namespace adagp::train {

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
    at::Tensor loss;
    {
      const AutocastScope autocast(s.device, s.bf16());
      logits.push_back(s.net->forward(images[part]));
      loss = loss_of(s, logits.back(), labels[part]);
    }
    if (images.size() > 1) {
      loss = loss * (static_cast<double>(images[part].size(0)) /
                     static_cast<double>(batch.images.size(0)));
    }
    loss.backward();
    result.loss = part == 0 ? loss.detach() : result.loss + loss.detach();
  }
  result.logits = logits.size() == 1 ? logits[0].detach() : at::cat(logits).detach();
  return result;
}

void update(Session& s) {
  const at::NoGradGuard no_grad;
  if (s.config.clip > 0) optim::clip_gradients(s.optimizer->params(), s.config.clip);
  s.optimizer->step(s.lr);
  for (const auto& param : s.optimizer->params()) param.value.mutable_grad().reset();
}

StepResult bp_step(Session& s, const data::Batch& batch) {
  const StepResult result = backprop(s, batch);
  update(s);
  return result;
}

}  // namespace adagp::train

#include "adagp/train/gp_step.h"

#include <ATen/ATen.h>

#include "adagp/device/kernels.h"
#include "adagp/train/loss.h"
#include "adagp/train/parts.h"
#include "adagp/train/precision.h"
#include "adagp/train/team.h"

namespace adagp::train {
namespace {

// The optimizer as a sink: each layer's gradient is applied as it is made and never stored.
class UpdateSink : public predictor::GradientSink {
 public:
  explicit UpdateSink(Session& session) : s_(session) {}

  bool wants(size_t layer) const override {
    return s_.config.head == "predicted" || !s_.is_head(layer);
  }
  void accept(size_t layer, const at::Tensor& gradient) override {
    if (averages()) {
      at::Tensor mean = gradient;
      s_.team->average(mean);
    }
    s_.optimizer->step_one(s_.weight_slot[layer], gradient);
  }
  std::optional<Direct> direct() const override {
    if (averages()) return {};
    return Direct{s_.optimizer.get(), &s_.weight_slot};
  }

 private:
  bool averages() const { return s_.team && s_.team->averages_predictions(); }
  Session& s_;
};

// The gradient of the loss by each output: a graph over the outputs alone.
models::Tensors output_gradients(Session& s, const models::Tensors& outputs,
                                 const data::Tensors& targets) {
  const at::AutoGradMode with_gradients(true);
  models::Tensors leaves;
  for (const at::Tensor& output : outputs) {
    leaves.push_back(output.detach().to(at::kFloat).requires_grad_());
  }
  Tally unused(s.device, device::kernels(s.device));  // the step has counted this batch already
  backward(s.task->loss(s.config, unused, leaves, targets, true, true), leaves, 1);
  for (at::Tensor& leaf : leaves) leaf = leaf.grad();
  return leaves;
}

// The gradient of a head needs no backward pass: its input and the error of its output suffice.
void exact_head(Session& s, size_t place, const at::Tensor& error) {
  const nn::WeightLayer& head = *s.layers[place];
  const nn::LayerInfo& info = head.info();
  const at::Tensor input = s.summaries->kept_input(place).to(at::kFloat);
  at::Tensor weight, bias;
  if (info.kind == nn::LayerKind::kConv2d) {
    weight = std::get<1>(at::convolution_backward(error, input, head.weight, {}, info.stride,
                                                  info.padding, info.dilation, false, {0, 0},
                                                  info.groups, {false, true, false}));
    weight = at::empty_like(head.weight).copy_(weight);
    bias = error.sum({0, 2, 3});
  } else {
    const at::Tensor flat = error.reshape({-1, info.out});
    weight = flat.t().mm(input.reshape({-1, info.in}));
    bias = flat.sum(0);
  }
  if (s.team) {
    s.team->average(weight);
    s.team->average(bias);
  }
  s.optimizer->step_one(s.weight_slot[place], weight);
  if (head.bias.defined()) s.optimizer->step_one(s.optimizer->index_of(head.bias), bias);
}

}  // namespace

void predicted_gradients(Session& s, const predictor::Context& context,
                         predictor::GradientSink& sink) {
  s.predictor->predict(*s.summaries, context, sink);
}

namespace {

StepResult forward(Session& s, const data::Batch& batch) {
  if (s.team) return s.team->forward(s, batch);
  StepResult result;
  s.summaries->begin(s.config.accumulate);
  const nn::TapScope taps(*s.summaries);
  const auto size = static_cast<double>(batch.size());
  for (const data::Batch& part : in_parts(batch, s.config.accumulate)) {
    models::Tensors outputs;
    {
      const AutocastScope autocast(s.device, s.bf16());
      outputs = s.net->run(part.inputs);
    }
    result.add(s.loss(outputs, part.targets, false).value, static_cast<double>(part.size()) / size);
    append(result.outputs, outputs);
  }
  s.summaries->end();
  return result;
}

}  // namespace

StepResult gp_step(Session& s, const data::Batch& batch, const GradientSource& source) {
  const at::NoGradGuard no_grad;
  StepResult result = forward(s, batch);
  result.phase = schedule::Phase::kPredict;
  result.targets = batch.targets;

  UpdateSink sink(s);
  source(s, {result.outputs, batch.targets}, sink);
  if (s.config.head == "exact" && !s.heads.empty()) {
    const models::Tensors errors = output_gradients(s, result.outputs, batch.targets);
    for (size_t i = 0; i < s.heads.size(); ++i) exact_head(s, s.heads[i], errors.at(i));
  }
  return result;
}

StepResult blind_step(Session& s, const GradientSource& source) {
  const at::NoGradGuard no_grad;
  UpdateSink sink(s);
  source(s, {}, sink);
  StepResult result;
  result.phase = schedule::Phase::kPredict;
  return result;
}

}  // namespace adagp::train

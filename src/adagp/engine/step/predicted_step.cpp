#include "adagp/engine/step/predicted_step.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include "adagp/engine/predictor/exact_gradient.h"
#include "adagp/engine/step/micro_batches.h"
#include "adagp/engine/step/taps.h"
#include "adagp/engine/step/team.h"
#include "adagp/engine/task/loss.h"
#include "adagp/gpu/device/autocast.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::step {
namespace {

// The mean over the copies, in place; a copy's gradient counts `weight` (Team::weight_of).
void average(Session& s, at::Tensor& gradient, double weight) {
  if (s.team->copies() == 1) return;
  if (weight != 1) gradient.mul_(weight);
  s.team->sum_over_copies(gradient, "predicted gradients");
  gradient.div_(static_cast<double>(s.team->copies()));
}

// The optimizer as a sink: each layer's gradient is applied as it is made and never stored.
class UpdateSink : public predictor::GradientSink {
 public:
  UpdateSink(Session& session, double weight) : s_(session), weight_(weight) {}

  bool wants(size_t layer) const override {
    return s_.head == Head::kPredicted || !s_.is_head(layer);
  }
  void accept(size_t layer, const at::Tensor& gradient) override {
    step(s_.weight_slot[layer], gradient);
  }
  void accept_bias(size_t layer, const at::Tensor& gradient) override {
    step(s_.optimizer->index_of(s_.layers[layer]->bias), gradient);
  }
  std::optional<Direct> direct() const override {
    if (averages()) return {};
    return Direct{s_.optimizer.get(), &s_.weight_slot};
  }

 private:
  void step(size_t slot, const at::Tensor& gradient) {
    if (averages()) {
      at::Tensor mean = gradient;
      average(s_, mean, weight_);
    }
    s_.optimizer->step_one(slot, gradient);
  }
  bool averages() const { return s_.team->averages_predictions(); }
  Session& s_;
  double weight_;
};

// The gradient of a head needs no backward pass: its input and the error of its output suffice.
void exact_head(Session& s, size_t place, const at::Tensor& error, double weight_of_copy) {
  const nn::WeightLayer& head = *s.layers[place];
  const nn::LayerInfo& info = head.info();
  const at::Tensor input = s.summaries->kept_input(place).to(at::kFloat);
  at::Tensor weight = predictor::weight_gradient(head, input, error);
  at::Tensor bias = info.kind == nn::LayerKind::kConv2d
                        ? error.sum({0, 2, 3})
                        : error.reshape({-1, info.out}).sum(at::IntArrayRef{0});
  average(s, weight, weight_of_copy);
  average(s, bias, weight_of_copy);
  s.optimizer->step_one(s.weight_slot[place], weight);
  if (head.bias.defined()) s.optimizer->step_one(s.optimizer->index_of(head.bias), bias);
}

// The gradient of the loss by each output, in fp32: a graph over the outputs alone.
models::Tensors output_gradients(Session& s, const models::Tensors& outputs,
                                 const data::Tensors& targets, const at::Tensor& weights) {
  const at::AutoGradMode with_gradients(true);
  models::Tensors leaves;
  for (const at::Tensor& output : outputs) {
    leaves.push_back(output.detach().to(at::kFloat).requires_grad_());
  }
  task::RunningMetrics unused(
      s.device, device::has_kernels(s.device));  // the step has counted this batch already
  backward(s.task->loss(s.config, unused, leaves, targets, {}), leaves, 1, weights);
  for (at::Tensor& leaf : leaves) leaf = leaf.grad();
  return leaves;
}

}  // namespace

predictor::Context context_of(Session& s, const StepResult& result, const at::Tensor& weights) {
  predictor::Context context{result.outputs, result.targets};
  if (s.activations) {
    context.errors = output_gradients(s, result.outputs, result.targets, weights);
    context.activations = s.activations.get();
  }
  return context;
}

void predicted_gradients(Session& s, const predictor::Context& context,
                         predictor::GradientSink& sink) {
  RECORD_USER_SCOPE("adagp::predict");  // for experiment/kind_timer.h
  s.predictor->predict(*s.summaries, context, sink);
}

StepResult predicted_forward(Session& s, const data::Batch& batch) {
  s.check_intact();
  const at::NoGradGuard no_grad;
  StepResult result = s.team->forward(s, batch);
  result.phase = schedule::Phase::kPredict;
  result.targets = batch.targets;
  return result;
}

StepResult SoloTeam::forward(Session& s, const data::Batch& batch) {
  StepResult result;
  Taps taps(s, s.config.accumulate);
  const auto size = static_cast<double>(batch.size());
  for (const data::Batch& part : micro_batches(batch, s.config.accumulate)) {
    models::Tensors outputs;
    {
      const device::AutocastScope autocast(s.device, s.bf16);
      outputs = s.net->run(part.inputs);
    }
    result.add(s.loss(outputs, part, false).value, static_cast<double>(part.size()) / size);
    append(result.outputs, outputs);
  }
  taps.end();
  return result;
}

StepResult predicted_step(Session& s, const data::Batch& batch, const GradientSource& source,
                          Early early) {
  const at::NoGradGuard no_grad;
  const double weight = s.team->weight_of(batch);
  UpdateSink sink(s, weight);
  EarlyUpdates updates(s, sink, early);
  StepResult result = predicted_forward(s, batch);
  const predictor::Context context = context_of(s, result, batch.weights);
  source(s, context, updates.rest());
  updates.join();
  if (s.head == Head::kExact && !s.heads.empty()) {
    const models::Tensors errors =
        context.errors.empty() ? output_gradients(s, result.outputs, batch.targets, batch.weights)
                               : context.errors;
    for (size_t i = 0; i < s.heads.size(); ++i) exact_head(s, s.heads[i], errors.at(i), weight);
  }
  if (s.activations) s.activations->clear();
  return result;
}

StepResult blind_step(Session& s, const GradientSource& source) {
  const at::NoGradGuard no_grad;
  UpdateSink sink(s, 1);
  source(s, {}, sink);
  StepResult result;
  result.phase = schedule::Phase::kPredict;
  return result;
}

}  // namespace adagp::step

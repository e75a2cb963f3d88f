#include "adagp/rivals/predictor/feedback.h"

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/predictor/exact_gradient.h"
#include "adagp/rivals/predictor/class_errors.h"

namespace adagp::predictor {

Feedback::Feedback(const std::vector<nn::WeightLayer*>& layers, const Config& config)
    : layers_(layers),
      config_(config),
      classes_(layers.back()->info().out),
      sizes_(layers.size()) {}

at::Tensor Feedback::input_of(size_t layer, const Context& context, int64_t examples) {
  const at::Tensor& input = context.activations->input(layer);
  const std::vector<int64_t>& shape = context.activations->shape(layer);
  if (shape.front() != examples || input.size(0) != examples) {
    throw UsageError(core::cat("predictor.kind = ", config_.kind, ": layer '",
                               layers_[layer]->path(), "' makes ", at::IntArrayRef(shape), " of ",
                               examples, " examples, expected one row for each; use ",
                               "predictor.kind = shared"));
  }
  sizes_[layer] = {input.numel() / examples, c10::multiply_integers(shape) / examples};
  return input.to(layers_[layer]->used_weight().scalar_type());
}

void Feedback::predict(const Summaries&, const Context& context, GradientSink& sink) {
  const at::NoGradGuard no_grad;
  const at::Tensor& errors = class_errors(context, layers_, config_.kind);
  const at::Tensor c = coefficients(errors);
  for (size_t l = 0; l < layers_.size(); ++l) {
    if (!sink.wants(l)) continue;
    const at::Tensor input = input_of(l, context, errors.size(0));
    sink.accept(l, l + 1 == layers_.size() ? weight_gradient(*layers_[l], input, errors)
                                           : gradient(l, input, c, feedback(l, sizes_[l].output),
                                                      context.activations->shape(l)));
  }
}

at::Tensor Feedback::gradient(size_t layer, const at::Tensor& input, const at::Tensor& c,
                              const at::Tensor& feedback, const std::vector<int64_t>& shape) const {
  return weight_gradient(*layers_[layer], input, from_rows(c.mm(feedback), shape));
}

// The share of the deltas' squared norm that was not foreseen, mean over layers:
// |delta - e V|^2 = |delta|^2 - 2 <e^T delta, V> + <(e^T e) V, V>.
at::Tensor Feedback::learn(const Summaries&, const std::vector<at::Tensor>&,
                           const Context& context) {
  const at::NoGradGuard no_grad;
  constexpr double kTiny = 1e-30;  // of a layer without gradient
  const at::Tensor& given = class_errors(context, layers_, config_.kind);
  at::Tensor loss = at::zeros({}, given.options()), errors = given, gram;
  const size_t count = layers_.size() - 1;
  for (size_t l = 0; l < count; ++l) {
    input_of(l, context, given.size(0));
    const at::Tensor now = matrix(l, sizes_[l].output);
    const at::Tensor deltas = example_rows(context.activations->delta(l)).to(now.scalar_type());
    if (l == 0) {
      errors = given.to(now.scalar_type());
      gram = errors.t().mm(errors);
    }
    const at::Tensor product = see(l, errors, deltas);
    const at::Tensor norm = deltas.square().sum();
    const at::Tensor missed = norm - 2 * product.mul(now).sum() + gram.mm(now).mul_(now).sum();
    loss.add_(missed / (norm + kTiny), 1.0 / static_cast<double>(count));
  }
  see(errors);
  return loss;
}

double Feedback::products(size_t layer) const {
  const nn::LayerInfo& info = layers_[layer]->info();
  return static_cast<double>(sizes_[layer].output) * static_cast<double>(info.cols());
}

double Feedback::layer_macs(size_t layer, int64_t examples) const {
  return static_cast<double>(examples) *
         (static_cast<double>(classes_ * sizes_[layer].output) + products(layer));
}

double Feedback::macs(int64_t examples) const {
  const nn::LayerInfo& last = layers_.back()->info();
  double sum = static_cast<double>(examples * last.rows() * last.cols());
  for (size_t l = 0; l + 1 < layers_.size(); ++l) sum += layer_macs(l, examples);
  return sum;
}

double Feedback::learning_macs(int64_t examples) const {
  double outputs = 0;
  for (size_t l = 0; l + 1 < layers_.size(); ++l) outputs += static_cast<double>(sizes_[l].output);
  // e^T delta; the fitted matrix and its part of the loss.
  return outputs * static_cast<double>(classes_ * (examples + 2 * classes_));
}

}  // namespace adagp::predictor

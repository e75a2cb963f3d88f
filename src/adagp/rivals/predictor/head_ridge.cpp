#include "adagp/rivals/predictor/head_ridge.h"

#include <cmath>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/predictor/exact_gradient.h"
#include "adagp/engine/predictor/layout.h"
#include "adagp/engine/predictor/running_rms.h"
#include "adagp/rivals/entries.h"
#include "adagp/rivals/options/options.h"
#include "adagp/rivals/predictor/class_errors.h"

namespace adagp::predictor {

HeadRidgePredictor::HeadRidgePredictor(const std::vector<nn::WeightLayer*>& layers,
                                       const Config& config, uint64_t seed, int64_t,
                                       const PredictorSync&)
    : layers_(layers),
      config_(config),
      seed_(seed),
      fit_(names_but_last(layers), rivals::options_of(config).head_features + 1,
           rivals::options_of(config).forget, rivals::options_of(config).ridge,
           predictor_options(layers)) {
  draw();
}

void HeadRidgePredictor::draw() {
  // On the CPU, so that every device has the same.
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(seed_);
  const int64_t entries = layers_.back()->weight.numel();
  projection_ =
      at::randn({entries, rivals::options_of(config_).head_features}, generator, at::kFloat)
          .div_(std::sqrt(static_cast<double>(entries)))
          .to(predictor_options(layers_));
}

at::Tensor HeadRidgePredictor::head_gradient(const Context& context) const {
  const nn::WeightLayer& head = *layers_.back();
  const at::Tensor& errors = class_errors(context, layers_, config_.kind);
  const at::Tensor input =
      context.activations->input(layers_.size() - 1).to(projection_.scalar_type());
  return weight_gradient(head, input, errors);
}

at::Tensor HeadRidgePredictor::features(const at::Tensor& head) const {
  const at::Tensor few = as_rows(head).reshape({1, -1}).mm(projection_);
  return at::cat({few, at::ones({1, 1}, few.options())}, 1);
}

at::Tensor HeadRidgePredictor::learn(const Summaries&, const std::vector<at::Tensor>& gradients,
                                     const Context& context) {
  const at::NoGradGuard no_grad;
  constexpr double kTiny = 1e-30;  // of a layer without gradient
  const at::Tensor f = features(head_gradient(context));
  const at::Tensor c = fit_.coefficients(f);
  at::Tensor loss = at::zeros({}, f.options());
  const size_t count = layers_.size() - 1;
  for (size_t l = 0; l < count; ++l) {
    const at::Tensor truth = as_rows(gradients[l]).reshape({1, -1}).to(f.scalar_type());
    const at::Tensor missed = truth - c.mm(fit_.cross(l, truth.size(1)));
    // The share of the gradient's squared norm that was not foreseen.
    loss.add_(missed.square().sum() / (truth.square().sum() + kTiny),
              1.0 / static_cast<double>(count));
    fit_.observe(l, f, truth);
  }
  fit_.observe(f);
  return loss;
}

void HeadRidgePredictor::predict(const Summaries&, const Context& context, GradientSink& sink) {
  const at::NoGradGuard no_grad;
  const at::Tensor head = head_gradient(context);
  const at::Tensor c = fit_.coefficients(features(head));
  for (size_t l = 0; l + 1 < layers_.size(); ++l) {
    if (!sink.wants(l)) continue;
    const at::Tensor& weight = layers_[l]->weight;
    const at::Tensor rows = c.mm(fit_.cross(l, weight.numel())).view({weight.size(0), -1});
    sink.accept(l, like_weight(rows, weight));
  }
  if (sink.wants(layers_.size() - 1)) sink.accept(layers_.size() - 1, head);
}

std::map<std::string, at::Tensor> HeadRidgePredictor::state() const {
  auto out = fit_.state();
  out["seed"] = at::full({1}, static_cast<int64_t>(seed_), at::kLong);
  return out;
}

void HeadRidgePredictor::load_state(const std::map<std::string, at::Tensor>& state) {
  const auto seed = state.find("seed");
  if (seed == state.end()) throw DataError("predictor state: 'seed' is missing");
  fit_.load_state(state);
  seed_ = static_cast<uint64_t>(seed->second.item<int64_t>());
  draw();
}

double HeadRidgePredictor::macs(int64_t examples) const {
  const auto head = static_cast<double>(layers_.back()->weight.numel());
  const auto count = static_cast<double>(rivals::options_of(config_).head_features);
  double sum = head * (static_cast<double>(examples) + count);
  for (size_t l = 0; l + 1 < layers_.size(); ++l) {
    sum += static_cast<double>(layers_[l]->weight.numel()) * (count + 1);
  }
  return sum;
}

Entry entries::head_ridge() {
  return {"head-ridge", "gradients fitted to the exact gradient of the head",
          maker<HeadRidgePredictor>()};
}

}  // namespace adagp::predictor

#include "adagp/rivals/predictor/dni.h"

#include <cmath>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/predictor/exact_gradient.h"
#include "adagp/engine/predictor/layout.h"
#include "adagp/rivals/entries.h"
#include "adagp/rivals/options/options.h"
#include "adagp/rivals/predictor/class_errors.h"

namespace adagp::predictor {

DniPredictor::DniPredictor(const std::vector<nn::WeightLayer*>& layers, const Config& config,
                           uint64_t seed, int64_t batches_per_epoch, const PredictorSync&)
    : layers_(layers),
      config_(config),
      classes_(layers.back()->info().out),
      net_(config, batches_per_epoch, predictor_options(layers), seed),
      rms_(layer_names(layers), config.target == "rms", predictor_options(layers)),
      pixels_(layers.size(), 0) {
  const std::vector<std::string> names = layer_names(layers);
  const int64_t hidden = rivals::options_of(config).dni_hidden;
  for (size_t l = 0; l + 1 < layers.size(); ++l) {
    const int64_t channels = layers[l]->info().out;
    const double bound = 1.0 / std::sqrt(static_cast<double>(channels));
    Guess guess;
    guess.w1 = net_.parameter(names[l] + ".w1", {hidden, channels}, bound);
    guess.b1 = net_.parameter(names[l] + ".b1", {hidden}, bound);
    guess.w2 = net_.constant(names[l] + ".w2", {channels, hidden}, 0);
    guess.b2 = net_.constant(names[l] + ".b2", {channels}, 0);
    if (rivals::options_of(config).dni_label) {
      guess.label = net_.constant(names[l] + ".label", {classes_, channels}, 0);
    }
    guesses_.push_back(guess);
  }
  net_.finish();
}

at::Tensor DniPredictor::told(const Context& context) const {
  if (!rivals::options_of(config_).dni_label) return {};
  const at::Tensor& labels = context.targets.at(0);
  if (labels.dim() != 1 || labels.scalar_type() != at::kLong) {
    throw UsageError(core::cat("predictor.dni_label: labels ", labels.sizes(),
                               ", expected one class for each example; use "
                               "--set predictor.dni_label=false"));
  }
  const at::Tensor classes = at::arange(classes_, labels.options());
  return labels.unsqueeze(1).eq(classes).to(
      c10::typeMetaToScalarType(predictor_options(layers_).dtype()));
}

at::Tensor DniPredictor::guess(size_t layer, const at::Tensor& output,
                               const at::Tensor& labels) const {
  const Guess& g = guesses_[layer];
  const at::Tensor y = example_rows(output)
                           .view({output.size(0), -1, layers_[layer]->info().out})
                           .to(g.w1.scalar_type());
  const at::Tensor out = at::linear(at::relu(at::linear(y, g.w1, g.b1)), g.w2, g.b2);
  return labels.defined() ? out + labels.mm(g.label).unsqueeze(1) : out;
}

void DniPredictor::predict(const Summaries&, const Context& context, GradientSink& sink) {
  const at::NoGradGuard no_grad;
  const at::Tensor& errors = class_errors(context, layers_, config_.kind);
  const at::Tensor labels = told(context);
  for (size_t l = 0; l < layers_.size(); ++l) {
    if (!sink.wants(l)) continue;
    const nn::WeightLayer& layer = *layers_[l];
    at::Tensor delta = errors;
    if (l < guesses_.size()) {
      const at::Tensor guessed = guess(l, context.activations->output(l), labels);
      pixels_[l] = static_cast<double>(guessed.size(1));
      delta = from_rows(guessed.mul(rms_.scale(l)), context.activations->shape(l));
    }
    const at::Tensor input = context.activations->input(l).to(layer.used_weight().scalar_type());
    sink.accept(l, weight_gradient(layer, input, delta));
  }
}

at::Tensor DniPredictor::learn(const Summaries&, const std::vector<at::Tensor>&,
                               const Context& context) {
  const at::Tensor& errors = class_errors(context, layers_, config_.kind);
  const at::Tensor labels = told(context);
  at::Tensor loss = at::zeros({}, predictor_options(layers_));
  const auto count = static_cast<double>(guesses_.size());
  for (size_t l = 0; l < guesses_.size(); ++l) {
    const at::Tensor target =
        example_rows(context.activations->delta(l).detach()).to(loss.scalar_type());
    rms_.update(l, target);
    // Layer by layer, so that only one layer's graph exists at a time.
    const at::AutoGradMode with_graph(true);
    const at::Tensor guessed = guess(l, context.activations->output(l), labels);
    pixels_[l] = static_cast<double>(guessed.size(1));
    const at::Tensor part =
        at::mse_loss(guessed.view({errors.size(0), -1}), target.div(rms_.scale(l))) / count;
    torch::autograd::backward({part}, {});
    loss.add_(part.detach());
  }
  net_.step(loss);
  return loss;
}

double DniPredictor::macs(int64_t examples) const {
  const nn::LayerInfo& last = layers_.back()->info();
  double sum = static_cast<double>(last.rows() * last.cols());
  for (size_t l = 0; l < guesses_.size(); ++l) {
    const nn::LayerInfo& info = layers_[l]->info();
    sum += pixels_[l] * static_cast<double>(
                            info.out * (info.cols() + 2 * rivals::options_of(config_).dni_hidden));
  }
  return sum * static_cast<double>(examples);
}

double DniPredictor::learning_macs(int64_t examples) const {
  // Forward, and the gradients of both products but for the network's own input.
  double sum = 0;
  for (size_t l = 0; l < guesses_.size(); ++l) {
    sum += pixels_[l] *
           static_cast<double>(5 * layers_[l]->info().out * rivals::options_of(config_).dni_hidden);
  }
  return sum * static_cast<double>(examples);
}

std::map<std::string, at::Tensor> DniPredictor::state() const {
  auto out = net_.state();
  out.merge(rms_.state());
  return out;
}

void DniPredictor::load_state(const std::map<std::string, at::Tensor>& state) {
  net_.load_state(state);
  rms_.load_state(state);
}

Entry entries::dni() {
  return {"dni", "a small network for each layer guesses the delta from its output (and the label)",
          maker<DniPredictor>()};
}

}  // namespace adagp::predictor

#pragma once
// Small classifiers and what predictors see of a batch that runs through them.

#include <functional>

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include "adagp/engine/nn/ops.h"
#include "adagp/engine/predictor/layout.h"
#include "adagp/engine/predictor/predictor.h"

namespace adagp::predictor::testing_net {

// Two linear layers and nothing between: the delta of the first is e times the second's weight.
struct LinearNet : torch::nn::Module {
  LinearNet() {
    a = register_module("a", nn::Linear(4, 5));
    b = register_module("b", nn::Linear(5, 3));
    to(at::kDouble);
  }
  at::Tensor forward(const at::Tensor& x) { return b->forward(a->forward(x)); }
  at::Tensor images(int64_t batch) const { return at::randn({batch, 4}, at::kDouble); }
  nn::Linear a{nullptr}, b{nullptr};
};

// Convolutions of different kinds whose outputs are overwritten, as those of real networks are.
struct ConvNet : torch::nn::Module {
  ConvNet() {
    a = register_module("a", nn::Conv2d(nn::conv(3, 4, 3, 1, 1)));
    b = register_module("b", nn::Conv2d(nn::conv(4, 6, 3, 2, 1, false, 2)));
    c = register_module("c", nn::Linear(6 * 3 * 2, 5));
    d = register_module("d", nn::Linear(5, 3));
    to(at::kDouble);
    for (auto* layer : nn::collect(*this)) {
      if (layer->weight.dim() != 4) continue;
      layer->weight.set_data(layer->weight.contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor y = nn::relu_(b->forward(nn::relu_(a->forward(x))));
    return d->forward(nn::relu_(c->forward(nn::flatten(y))));
  }
  at::Tensor images(int64_t batch) const {
    return at::randn({batch, 3, 6, 4}, at::kDouble).contiguous(at::MemoryFormat::ChannelsLast);
  }
  nn::Conv2d a{nullptr}, b{nullptr};
  nn::Linear c{nullptr}, d{nullptr};
};

// Everything a predictor is shown of one batch.
template <typename Net>
struct Pass {
  Pass(Net& net, Needs needs)
      : layers(nn::collect(net)), summaries(layers, 8), activations(layers, needs), net_(net) {}

  // Forward and backward on random examples.
  void run(int64_t batch) {
    const at::Tensor x = net_.images(batch);
    labels = at::randint(3, {batch}, at::kLong);
    activations.clear();
    summaries.begin();
    TapFan fan({&summaries, &activations});
    const nn::TapScope taps(fan);
    const at::Tensor logits = net_.forward(x);
    net_.zero_grad();
    at::cross_entropy_loss(logits, labels).backward();
    gradients.clear();
    for (const auto* layer : layers) gradients.push_back(gradient_of(*layer).clone());
    const at::NoGradGuard no_grad;
    const at::Tensor truth = at::one_hot(labels, 3).to(at::kDouble);
    context.outputs = {logits.detach()};
    context.targets = {labels};
    context.errors = {(at::softmax(logits.detach(), 1) - truth) / static_cast<double>(batch)};
    context.activations = &activations;
  }
  const at::Tensor& errors() const { return context.errors.at(0); }

  std::vector<nn::WeightLayer*> layers;
  Summaries summaries;
  Activations activations;
  at::Tensor labels;
  std::vector<at::Tensor> gradients;
  Context context;

 private:
  Net& net_;
};

inline double relative_error(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

// The weight gradient by autograd: the layer runs on `input` and is told `delta`.
inline at::Tensor by_autograd(nn::WeightLayer& layer, const at::Tensor& input,
                              const at::Tensor& delta) {
  const at::AutoGradMode with_graph(true);
  layer.weight.mutable_grad().reset();
  if (auto* conv = dynamic_cast<nn::Conv2dImpl*>(&layer)) {
    conv->forward(input).backward(delta);
  } else {
    dynamic_cast<nn::LinearImpl&>(layer).forward(input).backward(delta);
  }
  return layer.weight.grad().clone();
}

}  // namespace adagp::predictor::testing_net

#pragma once
// A network of odd layers, and a sink that collects what it is given.

#include <map>
#include <vector>

#include <torch/nn/module.h>

#include "adagp/engine/nn/layer.h"
#include "adagp/engine/predictor/predictor.h"

namespace adagp::predictor::testing_net {

// 1x1 kernel, wide kernel, grouped, depthwise and linear: cols 3, 75, 18, 9 and 7.
struct OddNet : torch::nn::Module {
  OddNet() {
    a = register_module("a", nn::Conv2d(nn::conv(3, 4, 1)));
    b = register_module("b", nn::Conv2d(nn::conv(3, 2, 5, 1, 2)));
    c = register_module("c", nn::Conv2d(nn::conv(4, 6, 3, 1, 1, false, 2)));
    d = register_module("d", nn::Conv2d(nn::conv(5, 5, 3, 1, 1, true, 5)));
    e = register_module("e", nn::Linear(7, 3));
    layers = nn::collect(*this);
  }
  nn::Conv2d a{nullptr}, b{nullptr}, c{nullptr}, d{nullptr};
  nn::Linear e{nullptr};
  std::vector<nn::WeightLayer*> layers;
};

struct Collect : GradientSink {
  void accept(size_t layer, const at::Tensor& gradient) override {
    strides[layer] = gradient.strides().vec();
    gradients[layer] = gradient.clone();
  }
  void accept_bias(size_t layer, const at::Tensor& gradient) override {
    biases[layer] = gradient.clone();
  }
  bool wants(size_t layer) const override { return static_cast<int64_t>(layer) != unwanted; }
  int64_t unwanted = -1;
  std::map<size_t, at::Tensor> gradients, biases;
  std::map<size_t, std::vector<int64_t>> strides;
};

// Shows each layer a random output so that the summaries are filled.
inline void fill(Summaries& summaries, int64_t batch) {
  summaries.begin();
  for (const auto* layer : summaries.layers()) {
    const auto options = layer->weight.options().requires_grad(false);
    const int64_t out = layer->info().out;
    const bool linear = layer->info().kind == nn::LayerKind::kLinear;
    const at::Tensor output =
        linear ? at::randn({batch, out}, options) : at::randn({batch, out, 6, 5}, options);
    summaries.on_output(*layer, output, output);
  }
}

inline std::vector<at::Tensor> random_gradients(const std::vector<nn::WeightLayer*>& layers) {
  std::vector<at::Tensor> out;
  for (const auto* layer : layers) out.push_back(at::randn_like(layer->weight.detach()));
  return out;
}

}  // namespace adagp::predictor::testing_net

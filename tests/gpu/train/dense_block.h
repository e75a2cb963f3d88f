#pragma once
// A dense block for tests: in one buffer, and step by step.

#include <vector>

#include <ATen/ATen.h>

#include "adagp/engine/nn/growing_map.h"

namespace adagp::test {

// Channels of the first map and of each layer.
struct Sizes {
  int64_t first, growth;
  int64_t before(size_t layer) const { return first + static_cast<int64_t>(layer) * growth; }
};
constexpr int64_t kLayers = 4;
constexpr Sizes kEven{16, 8}, kOdd{13, 5};  // with and without 16-byte vectors

inline at::Tensor on_gpu(const at::Tensor& values, at::ScalarType type = at::kFloat) {
  return values.to(at::kCUDA, type).contiguous(at::MemoryFormat::ChannelsLast).detach();
}

// Norm, ReLU, convolution, concat; four times, and a norm behind them.
struct DenseBlock {
  Sizes sizes;
  std::vector<nn::BatchNorm2d> norms;
  std::vector<nn::Conv2d> convs;
  nn::GrowingMap map;

  explicit DenseBlock(const Sizes& of) : sizes(of), map(of.before(kLayers)) {
    for (size_t i = 0; i <= kLayers; ++i) {
      norms.emplace_back(sizes.before(i));
      if (i < kLayers) {
        convs.emplace_back(nn::conv(sizes.before(i), sizes.growth, 3, 1, 1, false));
      }
      const at::NoGradGuard no_grad;
      norms.back()->weight.uniform_(0.5, 1.5), norms.back()->bias.uniform_(-0.5, 0.5);
    }
  }
  void copy(const DenseBlock& from) {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < norms.size(); ++i) {
      norms[i]->weight.copy_(from.norms[i]->weight), norms[i]->bias.copy_(from.norms[i]->bias);
    }
    for (size_t i = 0; i < convs.size(); ++i) convs[i]->weight.copy_(from.convs[i]->weight);
  }
  template <typename To>
  void to(const To& where) {
    for (auto& norm : norms) norm->to(where);
    for (auto& conv : convs) conv->to(where);
  }
  void train(bool on) {
    for (auto& norm : norms) norm->train(on);
  }
  at::Tensor layer(size_t i, const at::Tensor& x) {
    const nn::NormBranch branch = map.norm_relu_branch(*norms[i], x);
    return map.grow(branch.passed_on, *convs[i], branch.normed);
  }
  at::Tensor layer_by_steps(size_t i, const at::Tensor& x) {
    return at::cat({x, convs[i]->forward(at::relu(norms[i]->forward(x)))}, 1);
  }
  // Layers [first, kLayers) and the norm behind them.
  at::Tensor grown(at::Tensor x, size_t first = 0) {
    for (size_t i = first; i < kLayers; ++i) x = layer(i, x);
    return map.norm_relu(*norms[kLayers], x);
  }
  at::Tensor concatenated(at::Tensor x, size_t first = 0) {
    for (size_t i = first; i < kLayers; ++i) x = layer_by_steps(i, x);
    return at::relu(norms[kLayers]->forward(x));
  }
};

}  // namespace adagp::test

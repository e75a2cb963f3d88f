#pragma once
// Layer normalisation over the last axis, with PyTorch's names and defaults.

#include <torch/nn/module.h>

namespace adagp::nn {

class LayerNormImpl : public torch::nn::Module {
 public:
  explicit LayerNormImpl(int64_t width, double eps = 1e-5);
  // [..., width] -> the same shape, in the precision of the norm's own parameters: what a bf16
  // network adds up between its norms stays in fp32.
  at::Tensor forward(const at::Tensor& x);

  at::Tensor weight, bias;  // [width]

 private:
  int64_t width_;
  double eps_;
};
TORCH_MODULE(LayerNorm);

}  // namespace adagp::nn

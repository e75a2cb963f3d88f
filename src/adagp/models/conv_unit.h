#pragma once
// Convolution without bias, batch norm and activation under one name, as most networks repeat it.

#include <string>

#include "adagp/nn/conv_norm.h"

namespace adagp::models {

// Without bias; a stride of 1 keeps the size.
nn::Conv2d plain_conv(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1);

// What the two modules are called, and the norm's epsilon.
struct UnitStyle {
  std::string conv = "0", norm = "1";
  double eps = 1e-5;
};

class ConvUnitImpl : public torch::nn::Module {
 public:
  ConvUnitImpl(nn::Conv2dOptions options, nn::NormAct act, const UnitStyle& style = {});
  at::Tensor forward(const at::Tensor& x) { return nn::conv_norm(*conv_, *norm_, x, act_); }
  // For an x that others read after this: they are to read what x is then.
  at::Tensor forward_shared(at::Tensor& x) { return nn::conv_norm_shared(*conv_, *norm_, x, act_); }

 private:
  nn::Conv2d conv_{nullptr};
  nn::BatchNorm2d norm_{nullptr};
  nn::NormAct act_;
};
TORCH_MODULE(ConvUnit);

}  // namespace adagp::models

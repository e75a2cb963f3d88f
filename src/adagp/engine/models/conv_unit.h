#pragma once
// Convolution without bias, batch norm and activation under one name, as most networks repeat it.

#include <string>

#include "adagp/engine/nn/conv_norm.h"

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
  // The result belongs to `place`.
  at::Tensor forward(const at::Tensor& x, const nn::MapPlace& place = {}) {
    return nn::conv_norm(*conv_, *norm_, x, act_at(place));
  }
  // The same for an x that others read afterwards. Replaces x: they must read the new one.
  at::Tensor forward_shared(at::Tensor& x, const nn::MapPlace& place = {}) {
    return nn::conv_norm_shared(*conv_, *norm_, x, act_at(place));
  }

 private:
  nn::NormAct act_at(const nn::MapPlace& place) const {
    nn::NormAct act = act_;
    act.place = place;
    return act;
  }

  nn::Conv2d conv_{nullptr};
  nn::BatchNorm2d norm_{nullptr};
  nn::NormAct act_;
};
TORCH_MODULE(ConvUnit);

}  // namespace adagp::models

#include "adagp/predictor/exact_gradient.h"

#include <ATen/ATen.h>

namespace adagp::predictor {

at::Tensor weight_gradient(const nn::WeightLayer& layer, const at::Tensor& input,
                           const at::Tensor& delta) {
  const nn::LayerInfo& info = layer.info();
  const at::Tensor& weight = layer.weight;
  const at::Tensor error = delta.to(input.scalar_type());
  at::Tensor gradient;
  if (info.kind == nn::LayerKind::kConv2d) {
    // The weight's values are not used, its shape and precision are.
    const at::Tensor& near =
        input.scalar_type() == weight.scalar_type() ? weight : layer.used_weight();
    const at::Tensor like = near.detach().to(input.scalar_type());
    gradient = std::get<1>(at::convolution_backward(error, input, like, {}, info.stride,
                                                    info.padding, info.dilation, false, {0, 0},
                                                    info.groups, {false, true, false}));
  } else {
    gradient = error.reshape({-1, info.out}).t().mm(input.reshape({-1, info.in}));
  }
  if (gradient.strides() == weight.strides() && gradient.scalar_type() == weight.scalar_type()) {
    return gradient;
  }
  return at::empty_like(weight.detach()).copy_(gradient);
}

}  // namespace adagp::predictor

#include "adagp/nn/product_gradients.h"

#include <ATen/ATen.h>

namespace adagp::nn {

ProductGradients product_gradients(const LayerInfo& info, const at::Tensor& gradient,
                                   const at::Tensor& x, const at::Tensor& weight,
                                   std::array<bool, 3> wanted) {
  if (info.kind == LayerKind::kConv2d) {
    auto [input, of_weight, bias] = at::convolution_backward(
        gradient, x, weight, at::OptionalIntArrayRef(at::IntArrayRef(&info.out, 1)), info.stride,
        info.padding, info.dilation, false, {0, 0}, info.groups, wanted);
    return {input, of_weight, bias};
  }
  ProductGradients out;
  const at::Tensor flat = gradient.reshape({-1, info.out});
  if (wanted[0]) out[0] = gradient.matmul(weight);
  if (wanted[1]) out[1] = flat.t().mm(x.reshape({-1, info.in}));
  if (wanted[2]) out[2] = flat.sum(0);
  return out;
}

}  // namespace adagp::nn

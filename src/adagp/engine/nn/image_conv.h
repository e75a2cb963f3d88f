#pragma once
// The first convolution of networks on small images by our own kernels (cuda/conv/image_conv.h),
// with the gradient of its weight. On a CPU their references run: for tests.

#include "adagp/engine/nn/layer.h"

namespace adagp::nn {

// Whether the kernels take the layer's product of x and weight: 3x3 with padding 1 and stride 1,
// from 3 channels to 32 or 64, weights in bf16 and in channels-last order. x is fp32 or bf16, and
// nobody wants its gradient.
bool fits_image_conv(const LayerInfo& info, const at::Tensor& x, const at::Tensor& weight);

// x [B, 3, H, W], weight [filters, 3, 3, 3]. The result is bf16 in channels-last order.
at::Tensor image_conv_product(const at::Tensor& x, const at::Tensor& weight);

// Its two products, without autograd. Maps are dense in channels-last order.
at::Tensor image_conv_forward(const at::Tensor& x, const at::Tensor& weight);
at::Tensor image_conv_weight_gradient(const at::Tensor& dy, const at::Tensor& x,
                                      const at::Tensor& weight);

}  // namespace adagp::nn

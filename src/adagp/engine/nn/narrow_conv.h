#pragma once
// DenseNet's 3x3 convolutions by our own kernels (cuda/conv/narrow_conv.h), with the gradient of
// the weight; that of the input is ATen's. On a CPU the kernels' references run: for tests.

#include "adagp/engine/nn/layer.h"

namespace adagp::nn {

// Whether the kernels take the layer's product of x and weight: 3x3 with padding 1 and stride 1,
// from 128 channels to 32, both in bf16, weights in channels-last order; on a GPU whose blocks have
// the memory.
bool fits_narrow_conv(const LayerInfo& info, const at::Tensor& x, const at::Tensor& weight);

// x [B, 128, H, W], weight [32, 128, 3, 3]. The result is in channels-last order.
at::Tensor narrow_conv_product(const at::Tensor& x, const at::Tensor& weight);

// Its two products, without autograd. Maps are dense in channels-last order and begin at a multiple
// of 16 bytes.
at::Tensor narrow_conv_forward(const at::Tensor& x, const at::Tensor& weight);
at::Tensor narrow_conv_weight_gradient(const at::Tensor& dy, const at::Tensor& x,
                                       const at::Tensor& weight);

}  // namespace adagp::nn

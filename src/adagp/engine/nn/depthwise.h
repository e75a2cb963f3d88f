#pragma once
// 3x3 depthwise convolutions by our own kernels (cuda/conv/depthwise.h), with their gradients. On a
// CPU their references run: for tests.

#include "adagp/engine/nn/layer.h"

namespace adagp::nn {

// Whether the kernels take the layer's product of x and weight: one filter for each channel, 3x3,
// padding 1, stride 1 or 2, channels a multiple of 8, both tensors fp32 or both bf16.
bool fits_depthwise(const LayerInfo& info, const at::Tensor& x, const at::Tensor& weight);

// x [B, C, H, W], weight [C, 1, 3, 3]. The result is in channels-last order.
at::Tensor depthwise_product(const at::Tensor& x, const at::Tensor& weight, int64_t stride);

// Its three products, without autograd. Maps are dense in channels-last order; weight is contiguous
// and `like` is x.
at::Tensor depthwise_forward(const at::Tensor& x, const at::Tensor& weight, int64_t stride);
at::Tensor depthwise_input_gradient(const at::Tensor& dy, const at::Tensor& weight,
                                    const at::Tensor& like, int64_t stride);
at::Tensor depthwise_weight_gradient(const at::Tensor& dy, const at::Tensor& x,
                                     const at::Tensor& weight, int64_t stride);

}  // namespace adagp::nn

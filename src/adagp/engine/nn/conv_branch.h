#pragma once
// 1x1 convolutions whose input others read, too: the first one of a residual block, the first ones
// of Inception's branches. The gradients of such an input are a sum. Here the convolution's product
// adds its part to what the others have given, instead of a map of its own that is then added in
// another pass.

#include "adagp/engine/nn/layer.h"

namespace adagp::nn {

// Whether that works and saves something: 1x1 with stride 1, on a GPU, both tensors in bf16 and
// channels-last order, and gradients of x are wanted.
bool fits_conv_branch(const LayerInfo& info, const at::Tensor& x, const at::Tensor& weight);

// The convolution of x [B, C, H, W] and weight [filters, C, 1, 1], and x for all that read it
// afterwards: they must read `passed_on`, and must not write to it. The output of a convolution
// must not be added to it as it is: both would share a gradient, and whether that is overwritten
// would depend on who else holds it (nn/gradient_queue.h).
struct ConvBranch {
  at::Tensor product, passed_on;
};
ConvBranch conv_branch(const at::Tensor& x, const at::Tensor& weight);

}  // namespace adagp::nn

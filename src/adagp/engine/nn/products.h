#pragma once
// The three products of a weight layer: output, gradient of the input, gradient of the weight. All
// convolutions of networks but those of nn/own_conv.h and nn/conv_branch.h pass through here, so
// that LayerInfo::contiguous acts on each of them.

#include <array>

#include "adagp/engine/nn/layer.h"

namespace adagp::nn {

// `bias` may be undefined. Autograd does not follow it where info.contiguous is set.
at::Tensor product(const LayerInfo& info, const at::Tensor& x, const at::Tensor& weight,
                   const at::Tensor& bias);
// The same, always followed by autograd; its weight gradient goes to the thread's
// gradient_queue(), if there is one.
at::Tensor differentiable_product(const LayerInfo& info, const at::Tensor& x,
                                  const at::Tensor& weight, const at::Tensor& bias);

using Gradients = std::array<at::Tensor, 3>;  // of input, weight, bias
// Those that are `wanted`; the others are undefined. `gradient` is of the output.
Gradients gradients_of(const LayerInfo& info, const at::Tensor& gradient, const at::Tensor& x,
                       const at::Tensor& weight, std::array<bool, 3> wanted);

// Whether it is a plain 3x3 convolution that keeps the size: padding 1, no stride, no groups.
bool keeps_size_3x3(const LayerInfo& info);

}  // namespace adagp::nn

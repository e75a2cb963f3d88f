#pragma once
// The gradients of a layer's product, for functions that write their own backward pass.

#include <array>

#include "adagp/nn/layer.h"

namespace adagp::nn {

using ProductGradients = std::array<at::Tensor, 3>;  // of input, weight, bias

ProductGradients product_gradients(const LayerInfo& info, const at::Tensor& gradient,
                                   const at::Tensor& x, const at::Tensor& weight,
                                   std::array<bool, 3> wanted);

}  // namespace adagp::nn

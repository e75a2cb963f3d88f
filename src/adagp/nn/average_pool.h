#pragma once
// Average pool of 3x3, stride 1, padding 1 by our kernel, with its gradient.

#include "adagp/nn/ops.h"

namespace adagp::nn {

// Whether our kernel can do this pool of x.
bool fits_average_pool(const Pool2d& pool, const at::Tensor& x);
at::Tensor fused_average_pool(const at::Tensor& x, bool count_padding);

}  // namespace adagp::nn

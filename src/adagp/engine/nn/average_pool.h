#pragma once
// Average pools by our kernels, with their gradients: 3x3 with stride 1 and a padding of 1, and 2x2
// with stride 2.

#include "adagp/engine/nn/ops.h"

namespace adagp::nn {

// Whether one of our kernels can do this pool of x.
bool fits_average_pool(const Pool2d& pool, const at::Tensor& x);
at::Tensor own_average_pool(const at::Tensor& x, const Pool2d& pool);

}  // namespace adagp::nn

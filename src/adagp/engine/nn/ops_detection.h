#pragma once
// More operations without weights, as in ops.h: those that detectors use.

#include <torch/types.h>

namespace adagp::nn {

// Overwrites x with x > 0 ? x : slope * x. Autograd needs the result: it must not be overwritten.
at::Tensor leaky_relu_(at::Tensor x, double slope);
// x + y. May overwrite x when no graph is recorded; unlike add_() it is safe after leaky_relu_().
at::Tensor add(const at::Tensor& x, const at::Tensor& y);
// Every pixel four times: [B, C, H, W] -> [B, C, 2H, 2W].
at::Tensor upsample_nearest2x(const at::Tensor& x);

}  // namespace adagp::nn

#pragma once
// The mean over the first axis, in one pass over memory.

#include <torch/types.h>

namespace adagp::predictor {

// float mean of [B, ...] over B; any dense layout, any device. Keeps the layout of one example.
at::Tensor batch_mean(const at::Tensor& x);

}  // namespace adagp::predictor

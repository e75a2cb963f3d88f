#pragma once
// Some channels of a wider map, for maps that several layers write into: nn/growing_map.h and
// nn/joined_map.h.

#include <torch/types.h>

namespace adagp::nn {

// Copies by our kernel. Both are pitched (device::pitch_of); to_pitch is told apart, because a map
// of one position has none.
void copy_channels(const at::Tensor& from, const at::Tensor& to, int64_t to_pitch);

// The concat of x and `added` for autograd; the values of both are in `both` already.
enum class AddedGradient {
  kDense,    // copied out of the gradient of both
  kPitched,  // a view of it
};
at::Tensor joined_channels(const at::Tensor& x, const at::Tensor& added, const at::Tensor& both,
                           AddedGradient gradient);

}  // namespace adagp::nn

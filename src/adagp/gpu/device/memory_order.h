#pragma once
// Kernels see a weight and its gradient as rows of numbers, so both must lie in memory alike.

#include <torch/types.h>

namespace adagp::device {

// Whether both hold their elements in the same order in memory; they have the same sizes. The
// stride of a dimension of size 1 is never used, so 1x1 convolutions are alike in every format.
inline bool same_order(const at::Tensor& a, const at::Tensor& b) {
  for (int64_t d = 0; d < a.dim(); ++d) {
    if (a.size(d) > 1 && a.stride(d) != b.stride(d)) return false;
  }
  return true;
}

// `x` with the strides of `like`, which is in the same order: torch's fused optimizers compare
// strides literally, unused ones too.
inline at::Tensor with_strides_of(const at::Tensor& x, const at::Tensor& like) {
  return x.strides() == like.strides() ? x : x.as_strided(like.sizes(), like.strides());
}

}  // namespace adagp::device

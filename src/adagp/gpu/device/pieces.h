#pragma once
// A large tensor in parts, so that what is computed from it needs little memory beside it.

#include <algorithm>
#include <vector>

#include <torch/types.h>

namespace adagp::device {

// Views along the first axis, of about a million numbers each.
inline std::vector<at::Tensor> pieces(const at::Tensor& tensor) {
  constexpr int64_t kNumbers = 1 << 20;
  if (tensor.dim() == 0 || tensor.numel() <= kNumbers) return {tensor};
  const int64_t row = std::max<int64_t>(1, tensor.numel() / tensor.size(0));
  return tensor.split(std::max<int64_t>(1, kNumbers / row), 0);
}

}  // namespace adagp::device

#pragma once
// The operations without weights that our networks use. Each takes meta tensors too, for which it
// returns a meta tensor of the right shape and tells the active sink (TapSink::on_op).

#include <string>
#include <vector>

#include <torch/types.h>

namespace adagp::nn {

// Overwrites x. Safe for autograd after a convolution, a linear layer, a norm or an addition: none
// of them needs its own output for the backward pass.
at::Tensor relu_(at::Tensor x);
at::Tensor relu6_(at::Tensor x);  // also cut off at 6
// x += y, and returns x.
at::Tensor add_(at::Tensor x, const at::Tensor& y);
// Along the channels: [B, C1, H, W], [B, C2, H, W], ... -> [B, C1 + C2 + ..., H, W].
at::Tensor concat(const std::vector<at::Tensor>& parts);

struct Pool2d {
  int64_t kernel;
  int64_t stride;
  int64_t padding = 0;
  std::string name = "pool2d";  // for messages
  bool count_padding = true;    // averages: zeros of the padding count
  bool passes_pixels = false;   // max: a map of one pixel is passed on instead of refused
};
// Both throw UsageError when nothing of the image is left.
at::Tensor max_pool2d(const at::Tensor& x, const Pool2d& pool);
at::Tensor avg_pool2d(const at::Tensor& x, const Pool2d& pool);
// [B, C, H, W] -> [B, C, size, size]; x itself when it already has that size.
at::Tensor adaptive_avg_pool2d(const at::Tensor& x, int64_t size);
at::Tensor flatten(const at::Tensor& x);  // [B, ...] -> [B, n]
at::Tensor dropout(const at::Tensor& x, double probability, bool training);

}  // namespace adagp::nn

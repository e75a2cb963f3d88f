#pragma once
// Batch norm by our kernels, with its gradient. The inside of conv_norm().

#include <optional>

#include "adagp/engine/nn/batch_norm.h"
#include "adagp/engine/nn/tap.h"

namespace adagp::nn {

// Mean and biased variance of a map's channels over batch and pixels: on its device, and alive as
// long as the map.
struct ChannelStatistics {
  float* mean = nullptr;
  float* variance = nullptr;
};

struct FusedNorm {
  bool relu = false;
  bool relu6 = false;      // with relu: cut off at 6
  bool pool = false;       // 2x2
  bool overwrite = false;  // raw is nobody else's: without gradients the result may take its place
  std::optional<TapSink::SummaryTarget> summary;
  std::optional<ChannelStatistics> known;  // of raw: not taken again; not with a summary
  // Pitched: the result is written there; undefined: new memory. Neither with a residual nor with
  // a pool.
  at::Tensor into;
};

// Whether fused_norm() can do what this norm does to x now.
bool fusable(const BatchNorm2dImpl& norm, const at::Tensor& x);

// pool(relu(norm(raw + conv_bias) + residual)); raw [B, C, H, W] on a GPU our kernels run on, in
// channels-last order: dense, or pitched (device::pitch_of) where there is neither a pool nor
// `overwrite`. conv_bias and residual may be undefined. In training the statistics move
// and, with gradients on, conv_bias gets a gradient of zeros.
at::Tensor fused_norm(const at::Tensor& raw, const at::Tensor& conv_bias, BatchNorm2dImpl& norm,
                      const at::Tensor& residual, const FusedNorm& plan);

// relu(norm(x)), and x itself for what comes behind: the norm's backward pass adds the gradients of
// both. x may be pitched. known: as in FusedNorm.
struct NormBranch {
  at::Tensor normed, passed_on;
};
NormBranch fused_norm_branch(const at::Tensor& x, BatchNorm2dImpl& norm,
                             const std::optional<ChannelStatistics>& known);

}  // namespace adagp::nn

#pragma once
// Batch norm by our kernels, with its gradient. The inside of conv_norm().

#include <optional>

#include "adagp/nn/batch_norm.h"
#include "adagp/nn/tap.h"

namespace adagp::nn {

struct FusedNorm {
  bool relu = false;
  bool relu6 = false;      // with relu: cut off at 6
  bool pool = false;       // 2x2
  bool overwrite = false;  // raw is nobody else's: without gradients the result may take its place
  std::optional<TapSink::SummaryTarget> summary;
};

// pool(relu(norm(raw + conv_bias) + residual)); raw [B, C, H, W] dense in channels-last order, on a
// GPU our kernels run on. conv_bias and residual may be undefined. In training the statistics move
// and, with gradients on, conv_bias gets a gradient of zeros.
at::Tensor fused_norm(const at::Tensor& raw, const at::Tensor& conv_bias, BatchNorm2dImpl& norm,
                      const at::Tensor& residual, const FusedNorm& plan);

}  // namespace adagp::nn

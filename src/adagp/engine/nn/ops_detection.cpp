#include "adagp/engine/nn/ops_detection.h"

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/nn/ops.h"
#include "adagp/engine/nn/tap.h"

namespace adagp::nn {

at::Tensor leaky_relu_(at::Tensor x, double slope) {
  if (!x.is_meta()) return at::leaky_relu_(x, slope);
  report_op("activation", {x}, x);
  return x;
}

at::Tensor add(const at::Tensor& x, const at::Tensor& y) {
  const bool graph = at::GradMode::is_enabled() && (x.requires_grad() || y.requires_grad());
  return graph && x.sizes() == y.sizes() ? at::add(x, y) : add_(x, y);
}

at::Tensor upsample_nearest2x(const at::Tensor& x) {
  if (x.dim() != 4) {
    throw UsageError(
        core::cat("upsample: input of ", x.dim(), " dimensions, expected images [B, C, H, W]"));
  }
  const int64_t height = 2 * x.size(2), width = 2 * x.size(3);
  if (!x.is_meta()) return at::upsample_nearest2d(x, {height, width});
  at::Tensor y = at::empty({x.size(0), x.size(1), height, width}, x.options());
  report_op("pool", {x}, y);  // a movement of pixels, like a pool the other way round
  return y;
}

}  // namespace adagp::nn

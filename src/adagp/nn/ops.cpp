#include "adagp/nn/ops.h"

#include <utility>

#include "adagp/core/error.h"
#include "adagp/core/text.h"

namespace adagp::nn {
namespace {

void check_image(const at::Tensor& x, const std::string& name) {
  if (x.dim() == 4) return;
  throw UsageError(
      core::cat(name, ": input of ", x.dim(), " dimensions, expected images [B, C, H, W]"));
}

}  // namespace

at::Tensor relu_(at::Tensor x) {
  return x.is_meta() ? x : at::relu_(x);
}

at::Tensor add_(at::Tensor x, const at::Tensor& y) {
  if (x.sizes() != y.sizes()) {
    throw UsageError(
        core::cat("addition of ", x.sizes(), " and ", y.sizes(), ": the shapes must be equal"));
  }
  return x.is_meta() || y.is_meta() ? x : x.add_(y);
}

at::Tensor max_pool2d(const at::Tensor& x, const Pool2d& pool) {
  check_image(x, pool.name);
  const auto pooled = [&pool](int64_t size) {
    const int64_t room = size + 2 * pool.padding - pool.kernel;
    return room < 0 ? 0 : room / pool.stride + 1;
  };
  const int64_t height = pooled(x.size(2)), width = pooled(x.size(3));
  if (height < 1 || width < 1) {
    throw UsageError(core::cat(pool.name, ": input of ", x.size(2), "x", x.size(3),
                               " is smaller than the ", pool.kernel, "x", pool.kernel,
                               " window: the image is too small for this network"));
  }
  if (x.is_meta()) return at::empty({x.size(0), x.size(1), height, width}, x.options());
  return at::max_pool2d(x, {pool.kernel, pool.kernel}, {pool.stride, pool.stride},
                        {pool.padding, pool.padding});
}

at::Tensor adaptive_avg_pool2d(const at::Tensor& x, int64_t size) {
  check_image(x, "adaptive_avg_pool2d");
  if (x.size(2) == size && x.size(3) == size) return x;
  if (x.is_meta()) return at::empty({x.size(0), x.size(1), size, size}, x.options());
  return at::adaptive_avg_pool2d(x, {size, size});
}

at::Tensor flatten(const at::Tensor& x) {
  return at::flatten(x, 1);
}

at::Tensor dropout(const at::Tensor& x, double probability, bool training) {
  return x.is_meta() || !training ? x : at::dropout(x, probability, training);
}

}  // namespace adagp::nn

#include "adagp/engine/nn/ops.h"

#include <array>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/nn/average_pool.h"
#include "adagp/engine/nn/tap.h"

namespace adagp::nn {
namespace {

void check_image(const at::Tensor& x, const std::string& name) {
  if (x.dim() == 4) return;
  throw UsageError(
      core::cat(name, ": input of ", x.dim(), " dimensions, expected images [B, C, H, W]"));
}

// The result of an operation that leaves the shape alone and overwrites its input.
at::Tensor same_shape(const char* op, std::vector<at::Tensor> inputs) {
  report_op(op, inputs, inputs.front());
  return inputs.front();
}

at::Tensor meta_pool(const at::Tensor& x, int64_t height, int64_t width) {
  at::Tensor y = at::empty({x.size(0), x.size(1), height, width}, x.options());
  report_op("pool", {x}, y);
  return y;
}

// Height and width after the pool.
std::array<int64_t, 2> pooled_size(const at::Tensor& x, const Pool2d& pool) {
  check_image(x, pool.name);
  const auto pooled = [&pool](int64_t size) {
    const int64_t room = size + 2 * pool.padding - pool.kernel;
    return room < 0 ? 0 : room / pool.stride + 1;
  };
  const std::array<int64_t, 2> size{pooled(x.size(2)), pooled(x.size(3))};
  if (size[0] < 1 || size[1] < 1) {
    throw UsageError(core::cat(pool.name, ": input of ", x.size(2), "x", x.size(3),
                               " is smaller than the ", pool.kernel, "x", pool.kernel,
                               " window: the image is too small for this network"));
  }
  return size;
}

}  // namespace

at::Tensor relu_(at::Tensor x) {
  return x.is_meta() ? same_shape("activation", {x}) : at::relu_(x);
}

at::Tensor relu6_(at::Tensor x) {
  return x.is_meta() ? same_shape("activation", {x}) : at::relu6_(x);
}

at::Tensor add_(at::Tensor x, const at::Tensor& y) {
  if (x.sizes() != y.sizes()) {
    throw UsageError(
        core::cat("addition of ", x.sizes(), " and ", y.sizes(), ": the shapes must be equal"));
  }
  return x.is_meta() || y.is_meta() ? same_shape("add", {x, y}) : x.add_(y);
}

at::Tensor concat(const std::vector<at::Tensor>& parts) {
  if (parts.empty()) throw UsageError("concat: no tensors, expected at least one");
  const at::Tensor& first = parts.front();
  std::vector<int64_t> shape = first.sizes().vec();
  shape.at(1) = 0;
  bool meta = false;
  for (const at::Tensor& part : parts) {
    check_image(part, "concat");
    if (part.size(0) != shape[0] || part.size(2) != shape[2] || part.size(3) != shape[3]) {
      throw UsageError(core::cat("concat of ", first.sizes(), " and ", part.sizes(),
                                 ": all but the channels must be equal"));
    }
    shape[1] += part.size(1);
    meta = meta || part.is_meta();
  }
  if (!meta) return at::cat(parts, 1);
  at::Tensor y = at::empty(shape, first.options().device(at::kMeta));
  report_op("concat", parts, y);
  return y;
}

at::Tensor max_pool2d(const at::Tensor& x, const Pool2d& pool) {
  if (pool.passes_pixels && x.dim() == 4 && x.size(2) == 1 && x.size(3) == 1) return x;
  const auto [height, width] = pooled_size(x, pool);
  if (x.is_meta()) return meta_pool(x, height, width);
  return at::max_pool2d(x, {pool.kernel, pool.kernel}, {pool.stride, pool.stride},
                        {pool.padding, pool.padding});
}

at::Tensor avg_pool2d(const at::Tensor& x, const Pool2d& pool) {
  const auto [height, width] = pooled_size(x, pool);
  if (x.is_meta()) return meta_pool(x, height, width);
  if (fits_average_pool(pool, x)) return own_average_pool(x, pool);
  return at::avg_pool2d(x, {pool.kernel, pool.kernel}, {pool.stride, pool.stride},
                        {pool.padding, pool.padding}, /*ceil_mode=*/false, pool.count_padding);
}

at::Tensor adaptive_avg_pool2d(const at::Tensor& x, int64_t size) {
  check_image(x, "adaptive_avg_pool2d");
  if (x.size(2) == size && x.size(3) == size) return x;
  if (x.is_meta()) return meta_pool(x, size, size);
  return at::adaptive_avg_pool2d(x, {size, size});
}

at::Tensor flatten(const at::Tensor& x) {
  return at::flatten(x, 1);
}

at::Tensor dropout(const at::Tensor& x, double probability, bool training) {
  return x.is_meta() || !training ? x : at::dropout(x, probability, training);
}

}  // namespace adagp::nn

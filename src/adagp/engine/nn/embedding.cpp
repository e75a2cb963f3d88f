#include "adagp/engine/nn/embedding.h"

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/nn/initial_values.h"
#include "adagp/engine/nn/layer.h"

namespace adagp::nn {

EmbeddingImpl::EmbeddingImpl(int64_t words, int64_t width) {
  if (words < 1 || width < 1) {
    throw UsageError(core::cat("embedding of ", words, " words in ", width,
                               " numbers: both must be at least 1"));
  }
  weight = register_parameter("weight", make_tensor({words, width}));
  if (shape_only()) return;
  draw_normal(weight, 0, 1);
}

at::Tensor EmbeddingImpl::forward(const at::Tensor& numbers) {
  if (numbers.is_meta() || weight.is_meta()) {
    std::vector<int64_t> shape = numbers.sizes().vec();
    shape.push_back(weight.size(1));
    const at::Tensor y = at::empty(shape, weight.options().device(at::kMeta).requires_grad(false));
    report_op("embedding", {numbers, weight}, y);
    return y;
  }
  return at::embedding(weight, numbers);
}

}  // namespace adagp::nn

#include "adagp/engine/nn/layer_norm.h"

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/nn/layer.h"

namespace adagp::nn {

LayerNormImpl::LayerNormImpl(int64_t width, double eps) : width_(width), eps_(eps) {
  weight = register_parameter("weight", make_tensor({width}));
  bias = register_parameter("bias", make_tensor({width}));
  if (shape_only()) return;
  const torch::NoGradGuard no_grad;
  weight.fill_(1);
  bias.zero_();
}

at::Tensor LayerNormImpl::forward(const at::Tensor& x) {
  if (x.dim() < 1 || x.size(-1) != width_) {
    throw UsageError(core::cat("layer_norm over ", width_, " features: input ", x.sizes(),
                               ", expected [..., ", width_, "]"));
  }
  if (x.is_meta() || weight.is_meta()) {
    const at::Tensor y = at::empty(x.sizes(), x.options().device(at::kMeta));
    report_op("layer_norm", {x, weight, bias}, y);
    return y;
  }
  return at::layer_norm(x.to(weight.scalar_type()), {width_}, weight, bias, eps_);
}

}  // namespace adagp::nn

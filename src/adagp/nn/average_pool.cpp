#include "adagp/nn/average_pool.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "adagp/cuda/average_pool.h"
#include "adagp/device/kernels.h"

namespace adagp::nn {
namespace {

at::Tensor pooled(const at::Tensor& in, bool count_padding, bool gradient) {
  RECORD_USER_SCOPE("adagp::elementwise");  // for experiment/kind_timer.h
  at::Tensor out = at::empty(in.sizes(), in.options(), at::MemoryFormat::ChannelsLast);
  const cuda::AveragePoolArgs args{device::type_of(in), device::map_of(in),
                                   count_padding,       gradient,
                                   in.const_data_ptr(), out.mutable_data_ptr()};
  cuda::average_pool(args, device::stream(in.device()));
  return out;
}

class AveragePoolFunction : public torch::autograd::Function<AveragePoolFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x,
                            bool count_padding) {
    ctx->saved_data["count_padding"] = count_padding;
    return pooled(x, count_padding, /*gradient=*/false);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list gradients) {
    const bool count_padding = ctx->saved_data["count_padding"].toBool();
    return {pooled(device::channels_last(gradients[0]), count_padding, /*gradient=*/true),
            at::Tensor()};
  }
};

}  // namespace

bool fits_average_pool(const Pool2d& pool, const at::Tensor& x) {
  return pool.kernel == 3 && pool.stride == 1 && pool.padding == 1 && x.dim() == 4 &&
         device::has_kernels(x.device()) && device::has_type(x) &&
         cuda::average_pool_fits(device::map_of(x));
}

at::Tensor fused_average_pool(const at::Tensor& x, bool count_padding) {
  return AveragePoolFunction::apply(device::channels_last(x), count_padding);
}

}  // namespace adagp::nn

#include "adagp/engine/nn/average_pool.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "adagp/gpu/cuda/conv/average_pool.h"
#include "adagp/gpu/cuda/conv/halving_pool.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::nn {
namespace {

at::Tensor same_size(const at::Tensor& in, bool count_padding, bool gradient) {
  RECORD_USER_SCOPE("adagp::elementwise");  // for experiment/kind_timer.h
  at::Tensor out = at::empty(in.sizes(), in.options(), at::MemoryFormat::ChannelsLast);
  const cuda::AveragePoolArgs args{device::type_of(in), device::map_of(in),
                                   count_padding,       gradient,
                                   in.const_data_ptr(), out.mutable_data_ptr()};
  cuda::average_pool(args, device::stream(in.device()));
  return out;
}

at::Tensor halved(const at::Tensor& x) {
  RECORD_USER_SCOPE("adagp::elementwise");
  at::Tensor y = at::empty({x.size(0), x.size(1), x.size(2) / 2, x.size(3) / 2}, x.options(),
                           at::MemoryFormat::ChannelsLast);
  cuda::halving_pool({device::type_of(x), device::map_of(x), /*gradient=*/false, x.const_data_ptr(),
                      y.mutable_data_ptr()},
                     device::stream(x.device()));
  return y;
}

at::Tensor gradient_of_halved(const at::Tensor& dy) {
  RECORD_USER_SCOPE("adagp::elementwise");
  at::Tensor dx = at::empty({dy.size(0), dy.size(1), 2 * dy.size(2), 2 * dy.size(3)}, dy.options(),
                            at::MemoryFormat::ChannelsLast);
  cuda::halving_pool({device::type_of(dx), device::map_of(dx), /*gradient=*/true,
                      dy.const_data_ptr(), dx.mutable_data_ptr()},
                     device::stream(dy.device()));
  return dx;
}

class AveragePoolFunction : public torch::autograd::Function<AveragePoolFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x,
                            bool count_padding) {
    ctx->saved_data["count_padding"] = count_padding;
    return same_size(x, count_padding, /*gradient=*/false);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list gradients) {
    const bool count_padding = ctx->saved_data["count_padding"].toBool();
    return {same_size(device::channels_last(gradients[0]), count_padding, /*gradient=*/true),
            at::Tensor()};
  }
};

class HalvingPoolFunction : public torch::autograd::Function<HalvingPoolFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& x) {
    return halved(x);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list gradients) {
    return {gradient_of_halved(device::channels_last(gradients[0]))};
  }
};

bool keeps_size(const Pool2d& pool) {
  return pool.kernel == 3 && pool.stride == 1 && pool.padding == 1;
}

bool halves_size(const Pool2d& pool) {
  return pool.kernel == 2 && pool.stride == 2 && pool.padding == 0;
}

}  // namespace

bool fits_average_pool(const Pool2d& pool, const at::Tensor& x) {
  if (x.dim() != 4 || !device::has_kernels(x.device()) || !device::has_type(x)) return false;
  return (keeps_size(pool) && cuda::average_pool_fits(device::map_of(x))) ||
         (halves_size(pool) && cuda::halving_pool_fits(device::map_of(x)));
}

at::Tensor own_average_pool(const at::Tensor& x, const Pool2d& pool) {
  if (halves_size(pool)) return HalvingPoolFunction::apply(device::channels_last(x));
  return AveragePoolFunction::apply(device::channels_last(x), pool.count_padding);
}

}  // namespace adagp::nn

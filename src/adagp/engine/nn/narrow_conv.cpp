#include "adagp/engine/nn/narrow_conv.h"

#include <limits>

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include "adagp/engine/nn/own_conv.h"
#include "adagp/engine/nn/products.h"
#include "adagp/gpu/cuda/conv/narrow_conv.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::nn {
namespace {

cuda::NarrowConvArgs narrow_conv_args(const at::Tensor& x) {
  cuda::NarrowConvArgs args;
  args.map = device::map_of(x);
  args.block_memory = device::block_memory(x.device());
  args.x = x.const_data_ptr();
  return args;
}

}  // namespace

bool fits_narrow_conv(const LayerInfo& info, const at::Tensor& x, const at::Tensor& weight) {
  const bool same = keeps_size_3x3(info) && x.dim() == 4 && x.scalar_type() == at::kBFloat16 &&
                    weight.scalar_type() == at::kBFloat16 &&
                    weight.is_contiguous(at::MemoryFormat::ChannelsLast);
  if (!same) return false;
  const int64_t memory =
      x.is_cuda() ? device::block_memory(x.device()) : std::numeric_limits<int64_t>::max();
  return cuda::narrow_conv_fits(device::map_of(x), info.out, memory);
}

at::Tensor narrow_conv_product(const at::Tensor& x, const at::Tensor& weight) {
  static constexpr OwnConv kOwn = {
      [](const at::Tensor& map, const at::Tensor& filters, int64_t) {
        return narrow_conv_forward(map, filters);
      },
      [](const at::Tensor& dy, const at::Tensor& filters, const at::Tensor& map, int64_t) {
        return std::get<0>(at::convolution_backward(dy, map, filters, at::OptionalIntArrayRef(),
                                                    {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 1,
                                                    {true, false, false}));
      },
      [](const at::Tensor& dy, const at::Tensor& map, const at::Tensor& filters, int64_t) {
        return narrow_conv_weight_gradient(dy, map, filters);
      }};
  return own_product(kOwn, x, weight, 1);
}

at::Tensor narrow_conv_forward(const at::Tensor& x, const at::Tensor& weight) {
  RECORD_USER_SCOPE("adagp::convolution");  // for experiment/kind_timer.h
  at::Tensor y = at::empty({x.size(0), weight.size(0), x.size(2), x.size(3)}, x.options(),
                           at::MemoryFormat::ChannelsLast);
  cuda::NarrowConvArgs args = narrow_conv_args(x);
  args.weight = weight.const_data_ptr();
  args.y = y.mutable_data_ptr();
  device::run(x.device(), args, cuda::narrow_conv_forward, cuda::reference::narrow_conv_forward);
  return y;
}

at::Tensor narrow_conv_weight_gradient(const at::Tensor& dy, const at::Tensor& x,
                                       const at::Tensor& weight) {
  RECORD_USER_SCOPE("adagp::convolution");
  // Like the weight: the optimizer's kernels go by memory order.
  at::Tensor dweight = at::empty_like(weight);
  cuda::NarrowConvArgs args = narrow_conv_args(x);
  args.dy = dy.const_data_ptr();
  args.dweight = dweight.mutable_data_ptr();
  const at::Tensor workspace =
      at::empty({cuda::narrow_conv_workspace(args.map)}, x.options().dtype(at::kFloat));
  args.workspace = workspace.mutable_data_ptr<float>();
  device::run(x.device(), args, cuda::narrow_conv_weight_gradient,
              cuda::reference::narrow_conv_weight_gradient);
  return dweight;
}

}  // namespace adagp::nn

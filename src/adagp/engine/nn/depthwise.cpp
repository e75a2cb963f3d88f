#include "adagp/engine/nn/depthwise.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include "adagp/engine/nn/own_conv.h"
#include "adagp/gpu/cuda/conv/depthwise.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::nn {
namespace {

cuda::DepthwiseArgs depthwise_args(const at::Tensor& x, int64_t stride) {
  cuda::DepthwiseArgs args;
  args.type = device::type_of(x);
  args.map = device::map_of(x);
  args.stride = static_cast<int>(stride);
  return args;
}

}  // namespace

bool fits_depthwise(const LayerInfo& info, const at::Tensor& x, const at::Tensor& weight) {
  using Pair = std::array<int64_t, 2>;
  return info.kind == LayerKind::kConv2d && info.groups == info.in && info.in == info.out &&
         info.kernel == Pair{3, 3} && info.padding == Pair{1, 1} && info.dilation == Pair{1, 1} &&
         info.stride[0] == info.stride[1] && x.dim() == 4 && device::has_type(x) &&
         x.scalar_type() == weight.scalar_type() && weight.is_contiguous() &&
         cuda::depthwise_fits(device::map_of(x), static_cast<int>(info.stride[0]));
}

at::Tensor depthwise_product(const at::Tensor& x, const at::Tensor& weight, int64_t stride) {
  static constexpr OwnConv kOwn = {depthwise_forward, depthwise_input_gradient,
                                   depthwise_weight_gradient};
  return own_product(kOwn, x, weight, stride);
}

at::Tensor depthwise_forward(const at::Tensor& x, const at::Tensor& weight, int64_t stride) {
  RECORD_USER_SCOPE("adagp::convolution");  // for experiment/kind_timer.h
  cuda::DepthwiseArgs args = depthwise_args(x, stride);
  const cuda::Map out = cuda::depthwise_output(args.map, args.stride);
  at::Tensor y = at::empty({out.batch, out.channels, out.height, out.width}, x.options(),
                           at::MemoryFormat::ChannelsLast);
  args.x = x.const_data_ptr();
  args.weight = weight.const_data_ptr();
  args.y = y.mutable_data_ptr();
  device::run(x.device(), args, cuda::depthwise_forward, cuda::reference::depthwise_forward);
  return y;
}

at::Tensor depthwise_input_gradient(const at::Tensor& dy, const at::Tensor& weight,
                                    const at::Tensor& like, int64_t stride) {
  RECORD_USER_SCOPE("adagp::convolution");
  cuda::DepthwiseArgs args = depthwise_args(like, stride);
  at::Tensor dx = at::empty(like.sizes(), like.options(), at::MemoryFormat::ChannelsLast);
  args.dy = dy.const_data_ptr();
  args.weight = weight.const_data_ptr();
  args.dx = dx.mutable_data_ptr();
  device::run(dy.device(), args, cuda::depthwise_input_gradient,
              cuda::reference::depthwise_input_gradient);
  return dx;
}

at::Tensor depthwise_weight_gradient(const at::Tensor& dy, const at::Tensor& x,
                                     const at::Tensor& weight, int64_t stride) {
  RECORD_USER_SCOPE("adagp::convolution");
  cuda::DepthwiseArgs args = depthwise_args(x, stride);
  // Like the weight: the optimizer's kernels go by memory order.
  at::Tensor dweight = at::empty_like(weight);
  args.dy = dy.const_data_ptr();
  args.x = x.const_data_ptr();
  args.dweight = dweight.mutable_data_ptr();
  const at::Tensor workspace = at::empty(
      {cuda::depthwise_workspace(args.type, args.map, args.stride)}, x.options().dtype(at::kFloat));
  args.workspace = workspace.mutable_data_ptr<float>();
  device::run(x.device(), args, cuda::depthwise_weight_gradient,
              cuda::reference::depthwise_weight_gradient);
  return dweight;
}

}  // namespace adagp::nn

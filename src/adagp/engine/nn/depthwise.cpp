#include "adagp/engine/nn/depthwise.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "adagp/engine/nn/gradient_queue.h"
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

class DepthwiseFunction : public torch::autograd::Function<DepthwiseFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x,
                            const at::Tensor& weight, int64_t stride, const QueuePtr& queue) {
    ctx->save_for_backward({x, weight});
    ctx->saved_data["queue"] = kept_queue(queue);
    ctx->saved_data["stride"] = stride;
    return depthwise_forward(x, weight, stride);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor x = saved[0], weight = saved[1];
    const int64_t stride = ctx->saved_data["stride"].toInt();
    const at::Tensor dy = device::channels_last(gradients[0]);
    const QueuePtr queue = started_queue(ctx->saved_data["queue"], ctx->needs_input_grad(1));
    at::Tensor of_x, of_weight;
    if (ctx->needs_input_grad(0)) of_x = depthwise_input_gradient(dy, weight, x, stride);
    if (ctx->needs_input_grad(1)) {
      of_weight = weight_gradient(queue, weight, dy, x, [dy, x, weight, stride] {
        return depthwise_weight_gradient(dy, x, weight, stride);
      });
    }
    return {of_x, of_weight, at::Tensor(), at::Tensor()};
  }
};

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
  const at::Tensor map = device::channels_last(x);
  if (!at::GradMode::is_enabled()) return depthwise_forward(map, weight, stride);
  return DepthwiseFunction::apply(map, weight, stride, gradient_queue(map, weight));
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
  if (x.is_cuda()) {
    cuda::depthwise_forward(args, device::stream(x.device()));
  } else {
    cuda::reference::depthwise_forward(args);
  }
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
  if (dy.is_cuda()) {
    cuda::depthwise_input_gradient(args, device::stream(dy.device()));
  } else {
    cuda::reference::depthwise_input_gradient(args);
  }
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
  if (!x.is_cuda()) {
    cuda::reference::depthwise_weight_gradient(args);
    return dweight;
  }
  const at::Tensor workspace = at::empty(
      {cuda::depthwise_workspace(args.type, args.map, args.stride)}, x.options().dtype(at::kFloat));
  args.workspace = workspace.mutable_data_ptr<float>();
  cuda::depthwise_weight_gradient(args, device::stream(x.device()));
  return dweight;
}

}  // namespace adagp::nn

#include "adagp/engine/nn/narrow_conv.h"

#include <limits>

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "adagp/engine/nn/gradient_queue.h"
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

class NarrowConvFunction : public torch::autograd::Function<NarrowConvFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x,
                            const at::Tensor& weight, const QueuePtr& queue) {
    ctx->save_for_backward({x, weight});
    ctx->saved_data["queue"] = kept_queue(queue);
    return narrow_conv_forward(x, weight);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor x = saved[0], weight = saved[1];
    const at::Tensor dy = device::aligned_to_16_bytes(device::channels_last(gradients[0]));
    const QueuePtr queue = started_queue(ctx->saved_data["queue"], ctx->needs_input_grad(1));
    at::Tensor of_x, of_weight;
    if (ctx->needs_input_grad(0)) {
      of_x = std::get<0>(at::convolution_backward(dy, x, weight, at::OptionalIntArrayRef(), {1, 1},
                                                  {1, 1}, {1, 1}, false, {0, 0}, 1,
                                                  {true, false, false}));
    }
    if (ctx->needs_input_grad(1)) {
      of_weight = weight_gradient(queue, weight, dy, x, [dy, x, weight] {
        return narrow_conv_weight_gradient(dy, x, weight);
      });
    }
    return {of_x, of_weight, at::Tensor()};
  }
};

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
  const at::Tensor map = device::aligned_to_16_bytes(device::channels_last(x));
  if (!at::GradMode::is_enabled()) return narrow_conv_forward(map, weight);
  return NarrowConvFunction::apply(map, weight, gradient_queue(map, weight));
}

at::Tensor narrow_conv_forward(const at::Tensor& x, const at::Tensor& weight) {
  RECORD_USER_SCOPE("adagp::convolution");  // for experiment/kind_timer.h
  at::Tensor y = at::empty({x.size(0), weight.size(0), x.size(2), x.size(3)}, x.options(),
                           at::MemoryFormat::ChannelsLast);
  cuda::NarrowConvArgs args = narrow_conv_args(x);
  args.weight = weight.const_data_ptr();
  args.y = y.mutable_data_ptr();
  if (x.is_cuda()) {
    cuda::narrow_conv_forward(args, device::stream(x.device()));
  } else {
    cuda::reference::narrow_conv_forward(args);
  }
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
  if (!x.is_cuda()) {
    cuda::reference::narrow_conv_weight_gradient(args);
    return dweight;
  }
  const at::Tensor workspace =
      at::empty({cuda::narrow_conv_workspace(args.map)}, x.options().dtype(at::kFloat));
  args.workspace = workspace.mutable_data_ptr<float>();
  cuda::narrow_conv_weight_gradient(args, device::stream(x.device()));
  return dweight;
}

}  // namespace adagp::nn

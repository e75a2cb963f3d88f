#include "adagp/engine/nn/image_conv.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "adagp/engine/nn/gradient_queue.h"
#include "adagp/engine/nn/products.h"
#include "adagp/gpu/cuda/conv/image_conv.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::nn {
namespace {

cuda::ImageConvArgs image_conv_args(const at::Tensor& x, const at::Tensor& weight) {
  cuda::ImageConvArgs args;
  args.x_type = device::type_of(x);
  args.map = device::map_of(x);
  args.filters = static_cast<int>(weight.size(0));
  args.x = x.const_data_ptr();
  return args;
}

class ImageConvFunction : public torch::autograd::Function<ImageConvFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x,
                            const at::Tensor& weight, const QueuePtr& queue) {
    ctx->save_for_backward({x, weight});
    ctx->saved_data["queue"] = kept_queue(queue);
    return image_conv_forward(x, weight);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor x = saved[0], weight = saved[1];
    at::Tensor of_weight;
    if (ctx->needs_input_grad(1)) {
      const at::Tensor dy = device::aligned_to_16_bytes(device::channels_last(gradients[0]));
      const QueuePtr queue = started_queue(ctx->saved_data["queue"], true);
      of_weight = weight_gradient(queue, weight, dy, x, [dy, x, weight] {
        return image_conv_weight_gradient(dy, x, weight);
      });
    }
    return {at::Tensor(), of_weight, at::Tensor()};
  }
};

}  // namespace

bool fits_image_conv(const LayerInfo& info, const at::Tensor& x, const at::Tensor& weight) {
  return keeps_size_3x3(info) && x.dim() == 4 && device::has_type(x) && !x.requires_grad() &&
         weight.scalar_type() == at::kBFloat16 &&
         weight.is_contiguous(at::MemoryFormat::ChannelsLast) &&
         cuda::image_conv_fits(device::map_of(x), info.out);
}

at::Tensor image_conv_product(const at::Tensor& x, const at::Tensor& weight) {
  const at::Tensor map = device::aligned_to_16_bytes(device::channels_last(x));
  if (!at::GradMode::is_enabled()) return image_conv_forward(map, weight);
  return ImageConvFunction::apply(map, weight, gradient_queue(map, weight));
}

at::Tensor image_conv_forward(const at::Tensor& x, const at::Tensor& weight) {
  RECORD_USER_SCOPE("adagp::convolution");  // for experiment/kind_timer.h
  cuda::ImageConvArgs args = image_conv_args(x, weight);
  at::Tensor y = at::empty({x.size(0), weight.size(0), x.size(2), x.size(3)}, weight.options(),
                           at::MemoryFormat::ChannelsLast);
  args.weight = weight.const_data_ptr();
  args.y = y.mutable_data_ptr();
  if (x.is_cuda()) {
    cuda::image_conv_forward(args, device::stream(x.device()));
  } else {
    cuda::reference::image_conv_forward(args);
  }
  return y;
}

at::Tensor image_conv_weight_gradient(const at::Tensor& dy, const at::Tensor& x,
                                      const at::Tensor& weight) {
  RECORD_USER_SCOPE("adagp::convolution");
  cuda::ImageConvArgs args = image_conv_args(x, weight);
  // Like the weight: the optimizer's kernels go by memory order.
  at::Tensor dweight = at::empty_like(weight);
  args.dy = dy.const_data_ptr();
  args.dweight = dweight.mutable_data_ptr();
  if (!x.is_cuda()) {
    cuda::reference::image_conv_weight_gradient(args);
    return dweight;
  }
  const at::Tensor workspace = at::empty({cuda::image_conv_workspace(args.map, args.filters)},
                                         x.options().dtype(at::kFloat));
  args.workspace = workspace.mutable_data_ptr<float>();
  cuda::image_conv_weight_gradient(args, device::stream(x.device()));
  return dweight;
}

}  // namespace adagp::nn

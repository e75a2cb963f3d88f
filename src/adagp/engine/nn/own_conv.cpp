#include "adagp/engine/nn/own_conv.h"

#include <torch/csrc/autograd/custom_function.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/nn/gradient_queue.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::nn {
namespace {

at::Tensor as_map(const at::Tensor& x) {
  return device::aligned_to_16_bytes(device::channels_last(x));
}

struct OwnConvContext : torch::CustomClassHolder {
  OwnConvContext(const OwnConv& own, int64_t stride, const QueuePtr& queue)
      : own(own), stride(stride), queue(queue) {}
  const OwnConv& own;
  int64_t stride;
  KeptQueue queue;
};

struct OwnConvFunction : torch::autograd::Function<OwnConvFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x,
                            const at::Tensor& weight, const OwnConv* own, int64_t stride,
                            const QueuePtr& queue) {
    ctx->save_for_backward({x, weight});
    ctx->saved_data["more"] =
        c10::IValue::make_capsule(c10::make_intrusive<OwnConvContext>(*own, stride, queue));
    return own->forward(x, weight, stride);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const auto capsule = ctx->saved_data["more"].toCapsule();
    const auto& more = static_cast<const OwnConvContext&>(*capsule);
    const OwnConv& own = more.own;
    const int64_t stride = more.stride;
    const at::Tensor dy = as_map(gradients[0]);
    const QueuePtr queue = ctx->needs_input_grad(1) ? more.queue.started() : nullptr;
    at::Tensor of_x, of_weight;
    if (ctx->needs_input_grad(0)) {
      if (own.input_gradient == nullptr) throw Error("convolution: no gradient of this input");
      of_x = own.input_gradient(dy, weight, x, stride);
    }
    if (ctx->needs_input_grad(1)) {
      of_weight = weight_gradient(queue, weight, dy, x, [&own, dy, x, weight, stride] {
        return own.weight_gradient(dy, x, weight, stride);
      });
    }
    return {of_x, of_weight, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor own_product(const OwnConv& own, const at::Tensor& x, const at::Tensor& weight,
                       int64_t stride) {
  const at::Tensor map = as_map(x);
  if (!at::GradMode::is_enabled()) return own.forward(map, weight, stride);
  return OwnConvFunction::apply(map, weight, &own, stride, gradient_queue(map, weight));
}

}  // namespace adagp::nn

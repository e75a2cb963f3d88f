#include "adagp/engine/nn/products.h"

#include <optional>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "adagp/engine/nn/gradient_queue.h"

namespace adagp::nn {
namespace {

// Strides, too, are those of contiguous memory: where both layouts are the same memory (1x1
// filters, maps of one pixel), ATen goes by the strides.
at::Tensor in_contiguous_memory(const at::Tensor& x) {
  return x.contiguous().view({x.numel()}).view(x.sizes());
}

at::Tensor in_channels_last(const at::Tensor& x) {
  return at::empty(x.sizes(), x.options(), at::MemoryFormat::ChannelsLast).copy_(x);
}

Gradients convolution_gradients(const LayerInfo& c, const at::Tensor& gradient, const at::Tensor& x,
                                const at::Tensor& weight, std::array<bool, 3> wanted) {
  auto [of_x, of_weight, of_bias] = at::convolution_backward(
      gradient, x, weight, at::OptionalIntArrayRef(at::IntArrayRef(&c.out, 1)), c.stride, c.padding,
      c.dilation, false, {0, 0}, c.groups, wanted);
  Gradients out{of_x, of_weight, of_bias};
  for (size_t i = 0; i < out.size(); ++i) {
    if (!wanted[i]) out[i].reset();  // some libraries find more than they are asked for
  }
  return out;
}

Gradients contiguous_gradients(const LayerInfo& c, const at::Tensor& gradient, const at::Tensor& x,
                               const at::Tensor& weight, std::array<bool, 3> wanted) {
  Gradients out = convolution_gradients(c, in_contiguous_memory(gradient), in_contiguous_memory(x),
                                        in_contiguous_memory(weight), wanted);
  if (wanted[0]) out[0] = in_channels_last(out[0]);
  if (wanted[1]) out[1] = at::empty_like(weight).copy_(out[1]);
  return out;
}

struct ProductContext : torch::CustomClassHolder {
  ProductContext(const LayerInfo& of, const QueuePtr& to) : info(of), queue(to) {}
  LayerInfo info;
  KeptQueue queue;
};

// Gives the work to the queue.
void find_late(GradientQueue& queue, const LayerInfo& info, const at::Tensor& gradient,
               const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  queue.push({gradient, x}, [=] {
    const at::NoGradGuard no_grad;
    const Gradients found = gradients_of(info, gradient, x, weight, {false, true, bias.defined()});
    add_gradient(weight, found[1]);
    if (bias.defined()) add_gradient(bias, found[2]);
  });
}

struct ProductFunction : torch::autograd::Function<ProductFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x,
                            const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                            const LayerInfo& info, const QueuePtr& queue) {
    const at::Tensor added = bias.value_or(at::Tensor());
    ctx->save_for_backward({x, weight, added});
    ctx->saved_data["more"] =
        c10::IValue::make_capsule(c10::make_intrusive<ProductContext>(info, queue));
    return product(info, x, weight, added);
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                               const torch::autograd::tensor_list& gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &bias = saved[2];
    const auto capsule = ctx->saved_data["more"].toCapsule();
    const auto& more = static_cast<const ProductContext&>(*capsule);
    std::array<bool, 3> wanted{ctx->needs_input_grad(0), ctx->needs_input_grad(1),
                               bias.defined() && ctx->needs_input_grad(2)};
    const QueuePtr queue = wanted[1] ? more.queue.started() : nullptr;
    const at::Tensor late_bias = wanted[2] ? bias : at::Tensor();
    if (queue) wanted[1] = wanted[2] = false;
    const Gradients found = gradients_of(more.info, gradients[0], x, weight, wanted);
    if (queue) find_late(*queue, more.info, gradients[0], x, weight, late_bias);
    return {found[0], found[1], found[2], at::Tensor(), at::Tensor()};
  }
};

}  // namespace

bool keeps_size_3x3(const LayerInfo& info) {
  using Pair = std::array<int64_t, 2>;
  return info.kind == LayerKind::kConv2d && info.groups == 1 && info.kernel == Pair{3, 3} &&
         info.stride == Pair{1, 1} && info.padding == Pair{1, 1} && info.dilation == Pair{1, 1};
}

at::Tensor product(const LayerInfo& c, const at::Tensor& x, const at::Tensor& weight,
                   const at::Tensor& bias) {
  if (c.kind == LayerKind::kLinear) return at::linear(x, weight, bias);
  if (c.contiguous) {
    return in_channels_last(at::conv2d(in_contiguous_memory(x), in_contiguous_memory(weight), bias,
                                       c.stride, c.padding, c.dilation, c.groups));
  }
  return at::conv2d(x, weight, bias, c.stride, c.padding, c.dilation, c.groups);
}

at::Tensor differentiable_product(const LayerInfo& info, const at::Tensor& x,
                                  const at::Tensor& weight, const at::Tensor& bias) {
  const QueuePtr queue = gradient_queue(x, weight);
  const bool known = !info.contiguous && queue == nullptr;  // autograd does the same
  if (!at::GradMode::is_enabled() || known) {
    return product(info, x, weight, bias);
  }
  const std::optional<at::Tensor> given = bias.defined() ? std::optional(bias) : std::nullopt;
  return ProductFunction::apply(x, weight, given, info, queue);
}

Gradients gradients_of(const LayerInfo& info, const at::Tensor& gradient, const at::Tensor& x,
                       const at::Tensor& weight, std::array<bool, 3> wanted) {
  if (info.kind == LayerKind::kLinear) {
    Gradients out;
    const at::Tensor flat = gradient.reshape({-1, info.out});
    if (wanted[0]) out[0] = gradient.matmul(weight);
    if (wanted[1]) out[1] = flat.t().mm(x.reshape({-1, info.in}));
    if (wanted[2]) out[2] = flat.sum(0);
    return out;
  }
  if (!wanted[0] && !wanted[1] && !wanted[2]) return {};
  return info.contiguous ? contiguous_gradients(info, gradient, x, weight, wanted)
                         : convolution_gradients(info, gradient, x, weight, wanted);
}

}  // namespace adagp::nn

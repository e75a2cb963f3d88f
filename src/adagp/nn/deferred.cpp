#include "adagp/nn/deferred.h"

#include <optional>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "adagp/nn/products.h"

namespace adagp::nn {
namespace {

thread_local GradientQueue* active = nullptr;

void accumulate(const at::Tensor& leaf, const at::Tensor& gradient) {
  at::Tensor& sum = leaf.mutable_grad();
  if (sum.defined()) {
    sum.add_(gradient);
  } else {
    sum = at::empty_like(leaf.detach()).copy_(gradient);
  }
}

// What the backward pass needs beside tensors.
struct Deferral : torch::CustomClassHolder {
  Deferral(GradientQueue* to, const LayerInfo* of) : queue(to), info(of) {}
  GradientQueue* queue;
  const LayerInfo* info;
};

struct DeferredProduct : torch::autograd::Function<DeferredProduct> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x,
                            const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                            GradientQueue* queue, const LayerInfo* info) {
    ctx->save_for_backward({x, weight, bias.value_or(at::Tensor())});
    ctx->saved_data["deferral"] =
        c10::IValue::make_capsule(c10::make_intrusive<Deferral>(queue, info));
    return product(*info, x, weight, bias.value_or(at::Tensor()));
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                               const torch::autograd::tensor_list& gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor x = saved[0], weight = saved[1], bias = saved[2], gradient = gradients[0];
    const auto kept = ctx->saved_data["deferral"].toCapsule();
    const auto& deferral = static_cast<const Deferral&>(*kept);
    const LayerInfo* info = deferral.info;
    deferral.queue->push([=] {
      const at::NoGradGuard no_grad;
      const Gradients found =
          gradients_of(*info, gradient, x, weight, {false, true, bias.defined()});
      accumulate(weight, found[1]);
      if (bias.defined()) accumulate(bias, found[2]);
    });
    at::Tensor input;
    if (ctx->needs_input_grad(0)) {
      input = gradients_of(*info, gradient, x, weight, {true, false, false})[0];
    }
    return {input, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

void GradientQueue::run() {
  for (const auto& work : std::exchange(work_, {})) work();
}

DeferScope::DeferScope(GradientQueue& queue) : previous_(std::exchange(active, &queue)) {}
DeferScope::~DeferScope() {
  active = previous_;
}
GradientQueue* gradient_queue() {
  return at::GradMode::is_enabled() ? active : nullptr;
}

at::Tensor deferred_product(GradientQueue& queue, const LayerInfo& info, const at::Tensor& x,
                            const at::Tensor& weight, const at::Tensor& bias) {
  const std::optional<at::Tensor> given = bias.defined() ? std::optional(bias) : std::nullopt;
  return DeferredProduct::apply(x, weight, given, &queue, &info);
}

}  // namespace adagp::nn

#include "adagp/nn/gradient_queue.h"

#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/utils/grad_layout_contract.h>

namespace adagp::nn {
namespace {

thread_local GradientQueue* active_queue = nullptr;

struct QueueHolder : torch::CustomClassHolder {
  explicit QueueHolder(GradientQueue* of) : queue(of) {}
  GradientQueue* queue;
};

}  // namespace

void PutOffGradients::run() {
  for (const auto& work : std::exchange(work_, {})) work();
}

QueueScope::QueueScope(GradientQueue& queue) : previous_(std::exchange(active_queue, &queue)) {}
QueueScope::~QueueScope() {
  active_queue = previous_;
}

GradientQueue* gradient_queue(const at::Tensor& x, const at::Tensor& weight) {
  const bool taken =
      active_queue != nullptr && at::GradMode::is_enabled() && active_queue->takes(x, weight);
  return taken ? active_queue : nullptr;
}

void add_gradient(const at::Tensor& leaf, const at::Tensor& gradient) {
  at::Tensor& sum = leaf.mutable_grad();
  if (sum.defined()) {
    sum.add_(gradient);
  } else if (gradient.scalar_type() == leaf.scalar_type() && gradient.use_count() == 1 &&
             torch::autograd::utils::obeys_layout_contract(gradient, leaf)) {
    sum = gradient;  // as autograd does
  } else {
    sum = at::empty_like(leaf.detach()).copy_(gradient);
  }
}

at::Tensor weight_gradient(GradientQueue* queue, const at::Tensor& weight, const at::Tensor& dy,
                           const at::Tensor& x, std::function<at::Tensor()> find) {
  if (queue == nullptr) return find();
  queue->push({dy, x}, [weight, find = std::move(find)] {
    const at::NoGradGuard no_grad;
    add_gradient(weight, find());
  });
  return {};
}

c10::IValue kept_queue(GradientQueue* queue) {
  return c10::IValue::make_capsule(c10::make_intrusive<QueueHolder>(queue));
}

GradientQueue* started_queue(const c10::IValue& kept, bool wanted) {
  const auto capsule = kept.toCapsule();
  GradientQueue* queue = static_cast<const QueueHolder&>(*capsule).queue;
  if (!wanted || queue == nullptr) return nullptr;
  queue->set_start();
  return queue;
}

}  // namespace adagp::nn

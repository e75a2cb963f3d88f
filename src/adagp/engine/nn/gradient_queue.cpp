#include "adagp/engine/nn/gradient_queue.h"

#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/utils/grad_layout_contract.h>

#include "adagp/base/core/error.h"

namespace adagp::nn {
namespace {

thread_local QueuePtr active_queue;

struct QueueHolder : torch::CustomClassHolder {
  explicit QueueHolder(const QueuePtr& of) : queue(of) {}
  KeptQueue queue;
};

}  // namespace

bool GradientQueue::gets(const at::Tensor& x, const at::Tensor& weight) {
  if (!weight.is_leaf()) return false;  // its gradient is autograd's to pass on
  const auto known = ways_.find(weight.unsafeGetTensorImpl());
  if (known != ways_.end()) return known->second;
  return ways_[weight.unsafeGetTensorImpl()] = takes(x, weight);
}

void PutOffGradients::run() {
  for (const auto& work : std::exchange(work_, {})) work();
}

QueueScope::QueueScope(QueuePtr queue) : previous_(std::exchange(active_queue, std::move(queue))) {}
QueueScope::~QueueScope() {
  active_queue = std::move(previous_);
}

QueuePtr gradient_queue(const at::Tensor& x, const at::Tensor& weight) {
  const bool taken =
      active_queue != nullptr && at::GradMode::is_enabled() && active_queue->gets(x, weight);
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

at::Tensor weight_gradient(const QueuePtr& queue, const at::Tensor& weight, const at::Tensor& dy,
                           const at::Tensor& x, std::function<at::Tensor()> find) {
  if (queue == nullptr) return find();
  queue->push({dy, x}, [weight, find = std::move(find)] {
    const at::NoGradGuard no_grad;
    add_gradient(weight, find());
  });
  return {};
}

QueuePtr KeptQueue::started() const {
  if (!any_) return nullptr;
  QueuePtr queue = queue_.lock();
  if (queue == nullptr) {
    throw Error(
        "a backward pass began after the queue of its weight gradients was gone: keep the queue "
        "until the pass is over");
  }
  queue->set_start();
  return queue;
}

c10::IValue kept_queue(const QueuePtr& queue) {
  return c10::IValue::make_capsule(c10::make_intrusive<QueueHolder>(queue));
}

QueuePtr started_queue(const c10::IValue& kept, bool wanted) {
  if (!wanted) return nullptr;
  const auto capsule = kept.toCapsule();
  return static_cast<const QueueHolder&>(*capsule).queue.started();
}

}  // namespace adagp::nn

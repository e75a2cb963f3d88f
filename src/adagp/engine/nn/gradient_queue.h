#pragma once
// Weight gradients apart from the rest of a backward pass: the layers before wait for a layer's
// input gradient, and nobody but the update for its weight gradient.

#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include <torch/types.h>

namespace adagp::nn {

// Who computes them, and when.
class GradientQueue {
 public:
  GradientQueue() = default;
  virtual ~GradientQueue() = default;
  GradientQueue(const GradientQueue&) = delete;
  GradientQueue& operator=(const GradientQueue&) = delete;

  // Whether the gradient of this weight in a product with x goes to the queue. All products of a
  // weight go the way of the first: a queue may have a stream of its own, and two streams must not
  // add to one gradient.
  bool gets(const at::Tensor& x, const at::Tensor& weight);
  // Whether it would take the gradient of a leaf in a product with x, if that were the first.
  virtual bool takes(const at::Tensor& x, const at::Tensor& weight) const = 0;
  // The work that is pushed next needs nothing that is computed from now on.
  virtual void set_start() {}
  // `work` reads `used`, and adds to the gradients of leaves.
  virtual void push(std::vector<at::Tensor> used, std::function<void()> work) = 0;

 private:
  std::unordered_map<const void*, bool> ways_;  // by weight: whether its gradient comes here
};
using QueuePtr = std::shared_ptr<GradientQueue>;

// Puts them off until run(). For pipelines that fill their bubbles with them.
class PutOffGradients final : public GradientQueue {
 public:
  bool takes(const at::Tensor&, const at::Tensor&) const override { return true; }
  void push(std::vector<at::Tensor>, std::function<void()> work) override {
    work_.push_back(std::move(work));
  }
  // Adds everything put off to the weights' gradients, and forgets it.
  void run();
  bool empty() const { return work_.empty(); }

 private:
  std::vector<std::function<void()>> work_;
};

// While one is alive, products of this thread's forward passes give their weight gradients to
// `queue`. A backward pass that comes when the queue is gone throws Error.
class QueueScope {
 public:
  explicit QueueScope(QueuePtr queue);
  ~QueueScope();
  QueueScope(const QueueScope&) = delete;
  QueueScope& operator=(const QueueScope&) = delete;

 private:
  QueuePtr previous_;
};
// Of this thread if it gets the gradient; else null, as without autograd.
QueuePtr gradient_queue(const at::Tensor& x, const at::Tensor& weight);

// Adds to the gradient of a leaf.
void add_gradient(const at::Tensor& leaf, const at::Tensor& gradient);

// For backward passes of products. find: computes the gradient from dy and x.
// Returns it; with a queue that will add it, an undefined tensor.
at::Tensor weight_gradient(const QueuePtr& queue, const at::Tensor& weight, const at::Tensor& dy,
                           const at::Tensor& x, std::function<at::Tensor()> find);

// How the graph of autograd knows a queue between its passes. It does not own it: the queue holds
// work, which holds tensors, which hold the graph.
class KeptQueue {
 public:
  explicit KeptQueue(const QueuePtr& queue) : queue_(queue), any_(queue != nullptr) {}
  // After set_start(); null where there was none. Throws Error when it is gone: the gradient would
  // be lost.
  QueuePtr started() const;

 private:
  std::weak_ptr<GradientQueue> queue_;
  bool any_;
};
// In the context of an autograd function. `wanted`: whether the gradient is; if not, there is no
// queue.
c10::IValue kept_queue(const QueuePtr& queue);
QueuePtr started_queue(const c10::IValue& kept, bool wanted);

}  // namespace adagp::nn

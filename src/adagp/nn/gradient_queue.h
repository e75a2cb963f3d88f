#pragma once
// Weight gradients apart from the rest of a backward pass: the layers before wait for a layer's
// input gradient, and nobody but the update for its weight gradient.

#include <functional>
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

  // Whether it takes the gradient of this weight in a product with x. All products of a weight in
  // one forward pass must have the same answer.
  virtual bool takes(const at::Tensor& x, const at::Tensor& weight) const = 0;
  // The work that is pushed next needs nothing that is computed from now on.
  virtual void set_start() {}
  // `work` reads `used`, and adds to the gradients of leaves.
  virtual void push(std::vector<at::Tensor> used, std::function<void()> work) = 0;
};

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
// `queue`, which must outlive their backward pass.
class QueueScope {
 public:
  explicit QueueScope(GradientQueue& queue);
  ~QueueScope();
  QueueScope(const QueueScope&) = delete;
  QueueScope& operator=(const QueueScope&) = delete;

 private:
  GradientQueue* previous_;
};
// Of this thread if it takes the gradient; else null, as without autograd.
GradientQueue* gradient_queue(const at::Tensor& x, const at::Tensor& weight);

// Adds to the gradient of a leaf.
void add_gradient(const at::Tensor& leaf, const at::Tensor& gradient);

// For backward passes of products. find: computes the gradient from dy and x.
// Returns it; with a queue that will add it, an undefined tensor.
at::Tensor weight_gradient(GradientQueue* queue, const at::Tensor& weight, const at::Tensor& dy,
                           const at::Tensor& x, std::function<at::Tensor()> find);

// How the context of an autograd function keeps it. `wanted`: whether the gradient is; if not,
// there is no queue.
c10::IValue kept_queue(GradientQueue* queue);
GradientQueue* started_queue(const c10::IValue& kept, bool wanted);  // after set_start()

}  // namespace adagp::nn

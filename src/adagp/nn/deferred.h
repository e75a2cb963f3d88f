#pragma once
// Weight gradients put off: the backward pass computes what the layers before wait for, and leaves
// the rest in a queue. For pipelines that fill their bubbles with it.

#include <functional>
#include <vector>

#include "adagp/nn/layer.h"

namespace adagp::nn {

class GradientQueue {
 public:
  // Adds everything put off to the weights' gradients, and forgets it.
  void run();
  bool empty() const { return work_.empty(); }
  void push(std::function<void()> work) { work_.push_back(std::move(work)); }

 private:
  std::vector<std::function<void()>> work_;
};

// While one is alive, forward passes of this thread put their layers' weight gradients off into
// `queue`, which must outlive their backward pass.
class DeferScope {
 public:
  explicit DeferScope(GradientQueue& queue);
  ~DeferScope();
  DeferScope(const DeferScope&) = delete;
  DeferScope& operator=(const DeferScope&) = delete;

 private:
  GradientQueue* previous_;
};
// Of this thread, or null; null without autograd, where nothing will be put off.
GradientQueue* gradient_queue();

// The layer's product with its weight gradient put off.
at::Tensor deferred_product(GradientQueue& queue, const LayerInfo& info, const at::Tensor& x,
                            const at::Tensor& weight, const at::Tensor& bias);

}  // namespace adagp::nn

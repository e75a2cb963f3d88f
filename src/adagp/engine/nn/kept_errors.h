#pragma once
// Bit errors in what is kept for the backward pass, as embedded DRAM has them after a missed
// refresh: a share of the values has one bit of its mantissa flipped.
//
// Kept are the inputs of products, for the weight gradient, and the outputs of reversible stacks.
// The forward pass, its loss and the gradients of inputs see no error, and nothing that norms,
// activations and pools keep has any. Activations that a reversible block computes again live
// shortly and have none either.

#include "adagp/engine/nn/layer.h"

namespace adagp::nn {

class KeptErrors {
 public:
  // A pure function of the seed, the step and the order of the calls in it.
  KeptErrors(double share, int64_t seed, at::Device device);

  void begin_step(int64_t step);
  // A copy of x, which is dense.
  at::Tensor with_errors(const at::Tensor& x);

 private:
  double share_;
  int64_t seed_;
  at::Tensor of_step_;  // int64 [1] on the device: a recorded step finds its numbers there
  int64_t calls_ = 0;   // in this step
};

// While one is alive, graphs that this thread makes keep values with errors. Null: as without one.
class KeptErrorsScope {
 public:
  explicit KeptErrorsScope(KeptErrors* errors);
  ~KeptErrorsScope();
  KeptErrorsScope(const KeptErrorsScope&) = delete;
  KeptErrorsScope& operator=(const KeptErrorsScope&) = delete;

 private:
  KeptErrors* previous_;
};
// Of this thread, or null; null without autograd, where nothing is kept.
KeptErrors* kept_errors();

// The layer's product, whose weight gradient is made from an input with errors.
at::Tensor product_with_errors(KeptErrors& errors, const LayerInfo& info, const at::Tensor& x,
                               const at::Tensor& weight, const at::Tensor& bias);

}  // namespace adagp::nn

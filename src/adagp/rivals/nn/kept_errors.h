#pragma once
// Bit errors in what is kept for the backward pass, as embedded DRAM has them after a missed
// refresh: a share of the values has one bit of its mantissa flipped.
//
// Kept are the inputs of products, for the weight gradient, and the outputs of reversible stacks.
// The forward pass, its loss and the gradients of inputs see no error, and nothing that norms,
// activations and pools keep has any. Activations that a reversible block computes again live
// shortly and have none either.

#include <memory>

#include "adagp/engine/nn/kept_values.h"
#include "adagp/engine/nn/layer.h"

namespace adagp::nn {

class KeptErrors : public KeptValues {
 public:
  // A pure function of the seed, the step and the order of the calls in it.
  KeptErrors(double share, int64_t seed, at::Device device);

  void begin_step(int64_t step);
  // A copy of x with errors.
  at::Tensor keep(const at::Tensor& x) override;

 private:
  double share_;
  int64_t seed_;
  at::Tensor of_step_;  // int64 [1] on the device: a recorded step finds its numbers there
  int64_t calls_ = 0;   // in this step
};

// A layer's product, whose weight gradient is made from an input as kept_values() keeps it. It
// applies where something is kept.
std::shared_ptr<const ProductRule> rule_of_kept_values();

}  // namespace adagp::nn

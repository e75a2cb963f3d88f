#pragma once
// Reversible residual blocks (Gomez et al. 2017): y2 = f1(x1) + x2, y1 = f2(y2) + x1. The backward
// pass computes the inputs of a block from its outputs, so that a stack of blocks keeps nothing but
// its own output: memory that does not grow with depth, for one more forward pass.

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <torch/types.h>

namespace adagp::nn {

struct ReversibleBlock {
  // Each keeps the shape. Without random numbers: it is run a second time in the backward pass,
  // with the statistics of its norms left alone and no tap told.
  std::function<at::Tensor(const at::Tensor&)> f1, f2;
};
using ReversibleBlocks = std::shared_ptr<const std::vector<ReversibleBlock>>;

using Halves = std::pair<at::Tensor, at::Tensor>;  // x1, x2
Halves reversible(const ReversibleBlocks& blocks, const Halves& x);
// The inputs of the stack, from its outputs.
Halves inverse(const std::vector<ReversibleBlock>& blocks, const Halves& y);

// While one is alive, stacks of this thread keep their activations as other layers do: for taps
// that want to see gradients of outputs, and for comparing.
class KeepActivations {
 public:
  KeepActivations();
  ~KeepActivations();
  KeepActivations(const KeepActivations&) = delete;
  KeepActivations& operator=(const KeepActivations&) = delete;

 private:
  bool before_;
};

}  // namespace adagp::nn

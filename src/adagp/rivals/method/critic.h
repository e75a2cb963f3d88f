#pragma once
// A small network at a cut whose gradient stands in for the true one.

#include <functional>
#include <string>

#include <torch/types.h>

namespace adagp::method {

// What a critic says of activations h: the loss that it expects of each example, [B], and the
// gradient of their mean by h.
struct Verdict {
  at::Tensor losses, gradient;
};
// `scores`: class scores of activations. With `graph` both have graphs to the critic's weights.
Verdict judge(const std::function<at::Tensor(const at::Tensor&)>& scores, const at::Tensor& h,
              const at::Tensor& labels, bool graph);

// What a critic has to make small, a scalar with a graph. `match`:
//   value     its own mean loss: a classifier, as in decoupled greedy learning
//   gradient  |gradient - true|^2 / |true|^2 (VFBN; the division is ours: true gradients shrink)
//   both      that, and the mean of (losses - true losses)^2 (Sobolev training)
at::Tensor critic_loss(const Verdict& verdict, const at::Tensor& true_losses,
                       const at::Tensor& true_gradient, const std::string& match);

}  // namespace adagp::method

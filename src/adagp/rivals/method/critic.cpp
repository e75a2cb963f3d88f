#include "adagp/rivals/method/critic.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

namespace adagp::method {

Verdict judge(const std::function<at::Tensor(const at::Tensor&)>& scores, const at::Tensor& h,
              const at::Tensor& labels, bool graph) {
  const at::Tensor leaf = h.detach().requires_grad_();
  const at::Tensor given = scores(leaf);
  const auto type = given.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor losses = at::cross_entropy_loss(given.to(type), labels, {}, at::Reduction::None);
  // With a graph to the weights the losses are still needed; their graph must stay.
  const auto found = torch::autograd::grad({losses.mean()}, {leaf}, {}, true, graph);
  return {losses, found[0]};
}

at::Tensor critic_loss(const Verdict& verdict, const at::Tensor& true_losses,
                       const at::Tensor& true_gradient, const std::string& match) {
  if (match == "value") return verdict.losses.mean();
  const at::Tensor missed = (verdict.gradient - true_gradient).to(verdict.losses.scalar_type());
  const at::Tensor whole = true_gradient.to(missed.scalar_type()).square().sum();
  const at::Tensor share = missed.square().sum() / whole.clamp_min(1e-30);
  if (match == "gradient") return share;
  return share + (verdict.losses - true_losses).square().mean();
}

}  // namespace adagp::method

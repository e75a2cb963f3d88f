#include <ATen/ATen.h>

#include "adagp/optim/kinds.h"

namespace adagp::optim {
namespace {

//   g <- g + decay * w,   v <- momentum * v + g,   w <- w - lr * (nesterov ? g + momentum * v : v)
class Sgd final : public Optimizer {
 public:
  Sgd(std::vector<Param> params, const Config& config) : Optimizer(std::move(params), config) {
    if (config.momentum != 0) momentum_ = zeros_like_params();
  }

  void step(double lr) override {
    at::NoGradGuard no_grad;
    if (on_cpu_) {
      for (size_t i = 0; i < params_.size(); ++i) plain_step(i, lr);
      return;
    }
    for (const auto& group : groups_with_gradient()) {
      std::vector<at::Tensor> values, gradients, buffers;
      for (const size_t i : group) {
        values.push_back(params_[i].value);
        gradients.push_back(gradient_in_layout(i));
        if (!momentum_.empty()) buffers.push_back(momentum_[i]);
      }
      fused(values, gradients, buffers, decays_[group[0]], lr);
    }
  }

  void step_one(size_t index, const at::Tensor& gradient, double lr) override {
    at::NoGradGuard no_grad;
    const at::Tensor ready = checked(index, gradient);
    fused(params_[index].value, ready,
          momentum_.empty() ? at::TensorList() : at::TensorList(momentum_[index]), decays_[index],
          lr);
  }

  std::map<std::string, at::Tensor> state() const override {
    std::map<std::string, at::Tensor> out;
    for (size_t i = 0; i < momentum_.size(); ++i) {
      out["momentum." + params_[i].name] = momentum_[i];
    }
    return out;
  }

 private:
  // The operations of torch::optim::SGD one by one: the fused kernel rounds differently.
  void plain_step(size_t i, double lr) {
    at::Tensor value = params_[i].value;
    at::Tensor update = value.grad();
    if (!update.defined()) return;
    if (decays_[i] != 0) update = update.add(value, decays_[i]);
    if (!momentum_.empty()) {
      momentum_[i].mul_(config_.momentum).add_(update, 1.0);
      update = config_.nesterov ? update.add(momentum_[i], config_.momentum) : momentum_[i];
    }
    value.add_(update, -lr);
  }

  // is_first_step = false is right from the first step on, because the buffers start at zero.
  void fused(at::TensorList values, at::TensorList gradients, at::TensorList buffers, double decay,
             double lr) const {
    at::_fused_sgd_(values, gradients, buffers, decay, config_.momentum, lr, /*dampening=*/0.0,
                    config_.nesterov, /*maximize=*/false, /*is_first_step=*/false);
  }

  std::vector<at::Tensor> momentum_;  // empty without momentum
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(std::vector<Param> params, const Config& config) {
  return std::make_unique<Sgd>(std::move(params), config);
}

}  // namespace adagp::optim

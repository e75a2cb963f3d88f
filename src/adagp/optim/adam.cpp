#include <cmath>

#include <ATen/ATen.h>

#include "adagp/optim/kinds.h"

namespace adagp::optim {
namespace {

//   m <- b1 m + (1 - b1) g,   v <- b2 v + (1 - b2) g^2,
//   w <- w - lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
// Adam adds decay * w to g first; AdamW shrinks w by 1 - lr * decay instead.
class Adam final : public Optimizer {
 public:
  Adam(std::vector<Param> params, const Config& config, bool decoupled)
      : Optimizer(std::move(params), config),
        decoupled_(decoupled),
        mean_(zeros_like_params()),
        square_(zeros_like_params()) {
    // Counted per parameter, on its device: one that rests in some batches has its own bias
    // correction, and nothing waits for the device. fp32 as the fused kernels want it.
    for (const auto& param : params_) {
      count_.push_back(at::zeros({}, param.value.options().dtype(at::kFloat).requires_grad(false)));
    }
  }

  void step(double lr) override {
    at::NoGradGuard no_grad;
    if (on_cpu_) {
      for (size_t i = 0; i < params_.size(); ++i) plain_step(i, lr);
      return;
    }
    for (const auto& group : groups_with_gradient()) {
      std::vector<at::Tensor> values, gradients, means, squares, counts;
      for (const size_t i : group) {
        values.push_back(params_[i].value);
        gradients.push_back(gradient_in_layout(i));
        means.push_back(mean_[i]);
        squares.push_back(square_[i]);
        counts.push_back(count_[i]);
      }
      fused(values, gradients, means, squares, counts, decays_[group[0]], lr);
    }
  }

  void step_one(size_t index, const at::Tensor& gradient, double lr) override {
    at::NoGradGuard no_grad;
    const at::Tensor ready = checked(index, gradient);
    fused(params_[index].value, ready, mean_[index], square_[index], count_[index], decays_[index],
          lr);
  }

  std::map<std::string, at::Tensor> state() const override {
    std::map<std::string, at::Tensor> out;
    for (size_t i = 0; i < params_.size(); ++i) {
      out["mean." + params_[i].name] = mean_[i];
      out["square." + params_[i].name] = square_[i];
      out["step." + params_[i].name] = count_[i];
    }
    return out;
  }

 private:
  // The operations of torch::optim::Adam and AdamW one by one.
  void plain_step(size_t i, double lr) {
    at::Tensor value = params_[i].value;
    at::Tensor gradient = value.grad();
    if (!gradient.defined()) return;
    count_[i].add_(1);
    const double steps = count_[i].item<float>();
    if (decays_[i] != 0) {
      if (decoupled_) {
        value.mul_(1 - lr * decays_[i]);
      } else {
        gradient = gradient.add(value, decays_[i]);
      }
    }
    mean_[i].mul_(config_.beta1).add_(gradient, 1 - config_.beta1);
    square_[i].mul_(config_.beta2).addcmul_(gradient, gradient, 1 - config_.beta2);
    const double correction = std::sqrt(1 - std::pow(config_.beta2, steps));
    const at::Tensor scale = (square_[i].sqrt() / correction).add_(config_.eps);
    value.addcdiv_(mean_[i], scale, -(lr / (1 - std::pow(config_.beta1, steps))));
  }

  void fused(at::TensorList values, at::TensorList gradients, at::TensorList means,
             at::TensorList squares, at::TensorList counts, double decay, double lr) const {
    at::_foreach_add_(counts, 1);
    const auto kernel = decoupled_ ? static_cast<Kernel*>(at::_fused_adamw_)
                                   : static_cast<Kernel*>(at::_fused_adam_);
    kernel(values, gradients, means, squares, /*max_exp_avg_sqs=*/{}, counts, lr, config_.beta1,
           config_.beta2, decay, config_.eps, /*amsgrad=*/false, /*maximize=*/false, {}, {});
  }

  using Kernel = void(at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                      at::TensorList, at::TensorList, double, double, double, double, double, bool,
                      bool, const std::optional<at::Tensor>&, const std::optional<at::Tensor>&);

  bool decoupled_;
  std::vector<at::Tensor> mean_, square_, count_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(std::vector<Param> params, const Config& config,
                                     bool decoupled) {
  return std::make_unique<Adam>(std::move(params), config, decoupled);
}

}  // namespace adagp::optim

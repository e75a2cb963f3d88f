#include <cmath>

#include <ATen/ATen.h>

#include "adagp/engine/optim/kinds.h"

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
  // Before the first step the moments are zero, and so is this.
  at::Tensor direction(size_t i) const override {
    constexpr double kNotZero = 1e-12;
    const auto corrected = [&](const at::Tensor& moment, double beta) {
      return moment / (1 - at::pow(beta, count_[i])).clamp_min(kNotZero);
    };
    return corrected(mean_[i], config_.beta1) /
           corrected(square_[i], config_.beta2).sqrt().add(config_.eps);
  }

  void plain_step(size_t i, const at::Tensor& given) override {
    at::Tensor value = params_[i].value, gradient = given;
    count_[i].add_(1);
    const double steps = count_[i].item<float>();
    if (decays_[i] != 0) {
      if (decoupled_) {
        value.mul_(1 - lr_ * decays_[i]);
      } else {
        gradient = gradient.add(value, decays_[i]);
      }
    }
    mean_[i].mul_(config_.beta1).add_(gradient, 1 - config_.beta1);
    square_[i].mul_(config_.beta2).addcmul_(gradient, gradient, 1 - config_.beta2);
    const double correction = std::sqrt(1 - std::pow(config_.beta2, steps));
    const at::Tensor scale = (square_[i].sqrt() / correction).add_(config_.eps);
    value.addcdiv_(mean_[i], scale, -(lr_ / (1 - std::pow(config_.beta1, steps))));
  }

  void fused_step(const std::vector<size_t>& indices, at::TensorList values,
                  at::TensorList gradients) override {
    std::vector<at::Tensor> means, squares, counts;
    for (const size_t i : indices) {
      means.push_back(mean_[i]);
      squares.push_back(square_[i]);
      counts.push_back(count_[i]);
    }
    at::_foreach_add_(counts, 1);
    const double decay = decays_[indices[0]];
    const auto call = [&](const auto& lr) {
      const auto step = [&](auto&& kernel) {
        kernel(values, gradients, means, squares, /*max_exp_avg_sqs=*/at::TensorList(), counts, lr,
               config_.beta1, config_.beta2, decay, config_.eps, /*amsgrad=*/false,
               /*maximize=*/false, std::nullopt, std::nullopt);
      };
      if (decoupled_) {
        step([](auto&&... given) { at::_fused_adamw_(given...); });
      } else {
        step([](auto&&... given) { at::_fused_adam_(given...); });
      }
    };
    lr_device_.defined() ? call(lr_device_) : call(lr_);
  }

  void describe(size_t i, cuda::ParamSlot& slot) const override {
    slot.first = mean_[i].mutable_data_ptr<float>();
    slot.second = square_[i].mutable_data_ptr<float>();
    slot.steps = count_[i].mutable_data_ptr<float>();
  }
  void describe(cuda::UpdateRule& rule) const override {
    rule.kind = decoupled_ ? cuda::UpdateRule::Kind::kAdamW : cuda::UpdateRule::Kind::kAdam;
    rule.beta1 = static_cast<float>(config_.beta1);
    rule.beta2 = static_cast<float>(config_.beta2);
    rule.eps = static_cast<float>(config_.eps);
  }

  bool decoupled_;
  std::vector<at::Tensor> mean_, square_, count_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(std::vector<Param> params, const Config& config) {
  return std::make_unique<Adam>(std::move(params), config, /*decoupled=*/false);
}

std::unique_ptr<Optimizer> make_adamw(std::vector<Param> params, const Config& config) {
  return std::make_unique<Adam>(std::move(params), config, /*decoupled=*/true);
}

}  // namespace adagp::optim

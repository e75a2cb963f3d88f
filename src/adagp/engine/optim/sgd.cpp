#include <ATen/ATen.h>

#include "adagp/engine/optim/kinds.h"

namespace adagp::optim {
namespace {

//   g <- g + decay * w,   v <- momentum * v + g,   w <- w - lr * (nesterov ? g + momentum * v : v)
class Sgd final : public Optimizer {
 public:
  Sgd(std::vector<Param> params, const Config& config) : Optimizer(std::move(params), config) {
    if (config.momentum != 0) momentum_ = zeros_like_params();
  }

  std::map<std::string, at::Tensor> state() const override {
    std::map<std::string, at::Tensor> out;
    for (size_t i = 0; i < momentum_.size(); ++i) {
      out["momentum." + params_[i].name] = momentum_[i];
    }
    return out;
  }

 private:
  at::Tensor direction(size_t i) const override {
    return momentum_.empty() ? at::Tensor() : momentum_[i];
  }

  void plain_step(size_t i, const at::Tensor& gradient) override {
    at::Tensor value = params_[i].value;
    at::Tensor update = gradient;
    if (decays_[i] != 0) update = update.add(value, decays_[i]);
    if (!momentum_.empty()) {
      momentum_[i].mul_(config_.momentum).add_(update, 1.0);
      update = config_.nesterov ? update.add(momentum_[i], config_.momentum) : momentum_[i];
    }
    value.add_(update, -lr_);
  }

  // is_first_step = false is right from the first step on, because the buffers start at zero.
  void fused_step(const std::vector<size_t>& indices, at::TensorList values,
                  at::TensorList gradients) override {
    std::vector<at::Tensor> buffers;
    for (const size_t i : indices) {
      if (!momentum_.empty()) buffers.push_back(momentum_[i]);
    }
    const auto call = [&](const auto& lr) {
      at::_fused_sgd_(values, gradients, buffers, decays_[indices[0]], config_.momentum, lr,
                      /*dampening=*/0.0, config_.nesterov, /*maximize=*/false,
                      /*is_first_step=*/false);
    };
    lr_device_.defined() ? call(lr_device_) : call(lr_);
  }

  void describe(size_t i, cuda::ParamSlot& slot) const override {
    if (!momentum_.empty()) slot.first = momentum_[i].mutable_data_ptr<float>();
  }
  void describe(cuda::UpdateRule& rule) const override {
    rule.kind = cuda::UpdateRule::Kind::kSgd;
    rule.momentum = static_cast<float>(config_.momentum);
    rule.nesterov = config_.nesterov;
  }

  std::vector<at::Tensor> momentum_;  // empty without momentum
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(std::vector<Param> params, const Config& config) {
  return std::make_unique<Sgd>(std::move(params), config);
}

}  // namespace adagp::optim

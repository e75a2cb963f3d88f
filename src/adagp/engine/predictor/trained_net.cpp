#include "adagp/engine/predictor/trained_net.h"

#include <limits>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "adagp/base/core/error.h"

namespace adagp::predictor {

TrainedNet::TrainedNet(const Config& config, int64_t batches_per_epoch, at::TensorOptions options,
                       uint64_t seed, PredictorSync sync)
    : config_(config),
      sync_(std::move(sync)),
      options_(options),
      generator_(at::make_generator<at::CPUGeneratorImpl>(seed)) {
  schedule::PolicyConfig stairs;
  stairs.name = config.milestones.empty() ? "constant" : "multi-step";
  stairs.milestones = config.milestones;
  stairs.gamma = config.gamma;
  policy_ = schedule::make_policy(stairs, config.lr, std::numeric_limits<int64_t>::max(),
                                  batches_per_epoch);
}

at::Tensor TrainedNet::parameter(const std::string& name, at::IntArrayRef shape, double bound) {
  // Drawn on the CPU in fp32, so that every device and precision starts from the same numbers.
  at::Tensor value = at::empty(shape, at::kFloat).uniform_(-bound, bound, generator_);
  params_.push_back({name, value.to(options_).requires_grad_()});
  return params_.back().value;
}

at::Tensor TrainedNet::constant(const std::string& name, at::IntArrayRef shape, double value) {
  params_.push_back({name, at::full(shape, value, options_).requires_grad_()});
  return params_.back().value;
}

void TrainedNet::finish() {
  optim::Config adam;
  adam.name = "adam";
  adam.decay = 0;
  optimizer_ = optim::make_optimizer(params_, adam);
}

void TrainedNet::advance(int64_t batch, double share) {
  optimizer_->set_lr(policy_->lr(batch) * share);
}

void TrainedNet::step(at::Tensor& loss) {
  if (sync_.sum) {
    std::vector<at::Tensor> all{loss};
    for (auto& param : params_) {
      at::Tensor& gradient = param.value.mutable_grad();
      if (!gradient.defined()) gradient = at::zeros_like(param.value.detach());
      all.push_back(gradient);
    }
    sync_.sum(all);
  }
  optimizer_->step();
  optimizer_->clear_gradients();
}

std::map<std::string, at::Tensor> TrainedNet::state() const {
  std::map<std::string, at::Tensor> out;
  for (const auto& param : params_) out["param." + param.name] = param.value.detach();
  for (const auto& [name, tensor] : optimizer_->state()) out["optimizer." + name] = tensor;
  return out;
}

void TrainedNet::load_state(const std::map<std::string, at::Tensor>& state) {
  const at::NoGradGuard no_grad;
  const auto at_name = [&](const std::string& name) -> const at::Tensor& {
    const auto found = state.find(name);
    if (found == state.end()) throw DataError("predictor state: '" + name + "' is missing");
    return found->second;
  };
  for (auto& param : params_) {
    const at::Tensor& saved = at_name("param." + param.name);
    if (saved.sizes() != param.value.sizes()) {
      throw DataError("predictor state: '" + param.name +
                      "' has another shape: other predictor options?");
    }
    param.value.copy_(saved);
  }
  std::map<std::string, at::Tensor> moments;
  for (const auto& [name, tensor] : state) {
    if (name.starts_with("optimizer.")) moments[name.substr(10)] = tensor;
  }
  optimizer_->load_state(moments);
}

int64_t TrainedNet::parameter_count() const {
  int64_t count = 0;
  for (const auto& param : params_) count += param.value.numel();
  return count;
}

}  // namespace adagp::predictor

#include "adagp/engine/optim/optimizer.h"

#include <algorithm>
#include <set>

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include "adagp/base/core/lookup.h"
#include "adagp/engine/optim/kinds.h"
#include "adagp/gpu/device/kernels.h"
#include "adagp/gpu/device/memory_order.h"

namespace adagp::optim {
namespace {

void check_range(const char* key, double value, bool fine, const char* expected) {
  if (fine) return;
  throw UsageError(core::cat("optim.", key, " = ", core::shortest(value), ": expected ", expected));
}

void check_config(const Config& c) {
  check_range("momentum", c.momentum, c.momentum >= 0 && c.momentum < 1, "0 <= momentum < 1");
  check_range("decay", c.decay, c.decay >= 0, "0 or more");
  check_range("beta1", c.beta1, c.beta1 >= 0 && c.beta1 < 1, "0 <= beta1 < 1");
  check_range("beta2", c.beta2, c.beta2 >= 0 && c.beta2 < 1, "0 <= beta2 < 1");
  check_range("eps", c.eps, c.eps > 0, "more than 0");
  if (c.nesterov && c.momentum == 0) {
    throw UsageError("optim.nesterov = true with optim.momentum = 0: Nesterov needs a momentum");
  }
}

}  // namespace

Optimizer::Optimizer(std::vector<Param> params, const Config& config)
    : config_(config), params_(std::move(params)) {
  std::set<std::string> names;
  kernels_ = !params_.empty() && device::has_kernels(params_.front().value.device());
  for (size_t i = 0; i < params_.size(); ++i) {
    const auto& [name, value, low] = params_[i];
    if (!names.insert(name).second) throw Error("optimizer: two parameters named '" + name + "'");
    if (!value.is_floating_point() || !value.is_non_overlapping_and_dense()) {
      throw Error("optimizer: parameter '" + name + "' is not a dense floating-point tensor");
    }
    if (low.defined() && low.strides() != value.strides()) {
      throw Error("optimizer: the copy of '" + name + "' has another memory layout");
    }
    index_[value.unsafeGetTensorImpl()] = i;
    decays_.push_back(config.decay_norm_bias || value.dim() > 1 ? config.decay : 0.0);
    on_cpu_ = on_cpu_ && value.is_cpu();
    kernels_ = kernels_ && value.scalar_type() == at::kFloat;
  }
  if (on_cpu_) return;
  const auto options = at::TensorOptions(params_.front().value.device()).dtype(at::kFloat);
  lr_device_ = at::zeros({1}, options);
  clip_ = at::ones({2}, options);
}

void Optimizer::set_lr(double lr) {
  lr_ = lr;
  if (lr_device_.defined()) lr_device_.fill_(lr);
}

void Optimizer::step() {
  RECORD_USER_SCOPE("adagp::update");  // for experiment/kind_timer.h
  at::NoGradGuard no_grad;
  std::vector<size_t> indices;
  std::vector<at::Tensor> gradients;
  for (size_t i = 0; i < params_.size(); ++i) {
    const at::Tensor found = gradient(i);
    if (!found.defined()) continue;
    indices.push_back(i);
    gradients.push_back(kernels_ || !on_cpu_ ? in_layout(i, found)
                                             : found.to(params_[i].value.scalar_type()));
  }
  if (kernels_) {
    run_kernel(indices, gradients);
  } else if (on_cpu_) {
    for (size_t k = 0; k < indices.size(); ++k) {
      plain_step(indices[k], gradients[k]);
      copy_to_bf16(indices[k]);
    }
  } else {
    // A fused call takes a single decay.
    std::map<double, std::pair<std::vector<size_t>, std::vector<at::Tensor>>> groups;
    for (size_t k = 0; k < indices.size(); ++k) {
      auto& group = groups[decays_[indices[k]]];
      group.first.push_back(indices[k]);
      group.second.push_back(gradients[k].to(params_[indices[k]].value.scalar_type()));
    }
    for (const auto& [decay, group] : groups) run_fused(group.first, group.second);
  }
  clipped_ = false;
}

void Optimizer::step_one(size_t index, const at::Tensor& gradient) {
  RECORD_USER_SCOPE("adagp::update");
  at::NoGradGuard no_grad;
  const at::Tensor ready = checked(index, gradient);
  if (kernels_) {
    run_kernel({index}, {ready});
  } else {
    run_fused({index}, {ready});
  }
}

void Optimizer::run_kernel(const std::vector<size_t>& indices,
                           const std::vector<at::Tensor>& gradients) {
  if (indices.empty()) return;
  std::vector<cuda::ParamSlot> slots;
  for (size_t k = 0; k < indices.size(); ++k) {
    slots.push_back(slot(indices[k]));
    slots.back().gradient = gradients[k].const_data_ptr();
    slots.back().gradient_type = device::type_of(gradients[k]);
  }
  cuda::UpdateRule how = rule();
  if (clipped_) how.scale = clip_.const_data_ptr<float>() + 1;
  cuda::update(slots.data(), static_cast<int64_t>(slots.size()), how,
               device::stream(params_.front().value.device()));
}

void Optimizer::run_fused(const std::vector<size_t>& indices,
                          const std::vector<at::Tensor>& gradients) {
  std::vector<at::Tensor> values;
  for (const size_t i : indices) values.push_back(params_[i].value);
  fused_step(indices, values, gradients);
  for (const size_t i : indices) copy_to_bf16(i);
}

void Optimizer::clip(double max_norm) {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (size_t i = 0; i < params_.size(); ++i) {
    const at::Tensor found = gradient(i);
    if (found.defined()) gradients.push_back(found);
  }
  if (!kernels_) {
    clip_gradients(gradients, max_norm);
    return;
  }
  std::vector<cuda::ParamSlot> slots;
  for (const at::Tensor& found : gradients) {
    cuda::ParamSlot one;
    one.gradient = found.const_data_ptr();
    one.gradient_type = device::type_of(found);
    one.count = found.numel();
    slots.push_back(one);
  }
  const at::Device where = params_.front().value.device();
  cuda::ClipArgs a;
  a.max_norm = static_cast<float>(max_norm);
  a.norm = clip_.mutable_data_ptr<float>();
  a.scale = a.norm + 1;
  a.workspace = device::scratch(device::Scratch::kClip, where, cuda::clip_workspace());
  cuda::clip_scale(slots.data(), static_cast<int64_t>(slots.size()), a, device::stream(where));
  clipped_ = true;
}

void Optimizer::clear_gradients() {
  clipped_ = false;
  for (auto& param : params_) {
    param.value.mutable_grad().reset();
    if (param.bf16_copy.defined()) param.bf16_copy.mutable_grad().reset();
  }
}

void Optimizer::look_ahead(double factor) {
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < params_.size(); ++i) {
    const at::Tensor along = direction(i);
    if (!along.defined()) continue;
    at::Tensor value = params_[i].value;
    // On a GPU the rate is read from device memory, so that a recorded step follows it.
    if (lr_device_.defined()) {
      value.addcmul_(along, lr_device_, -factor);
    } else {
      value.add_(along, -factor * lr_);
    }
  }
  refresh_bf16_copies();
}

void Optimizer::copy_to_bf16(size_t index) {
  at::Tensor low =
      params_[index].bf16_copy.defined() ? params_[index].bf16_copy.detach() : at::Tensor();
  if (low.defined()) low.copy_(params_[index].value);
}

void Optimizer::refresh_bf16_copies() {
  at::NoGradGuard no_grad;
  if (!kernels_) {
    for (size_t i = 0; i < params_.size(); ++i) copy_to_bf16(i);
    return;
  }
  std::vector<cuda::ParamSlot> slots;
  for (size_t i = 0; i < params_.size(); ++i) {
    if (params_[i].bf16_copy.defined()) slots.push_back(slot(i));
  }
  cuda::refresh_bf16_copies(slots.data(), static_cast<int64_t>(slots.size()),
                            device::stream(params_.front().value.device()));
}

cuda::ParamSlot Optimizer::slot(size_t index) const {
  const Param& param = params_[index];
  cuda::ParamSlot out;
  out.weight = param.value.mutable_data_ptr<float>();
  out.low = param.bf16_copy.defined() ? param.bf16_copy.mutable_data_ptr() : nullptr;
  out.count = param.value.numel();
  out.decay = static_cast<float>(decays_[index]);
  describe(index, out);
  return out;
}

cuda::UpdateRule Optimizer::rule() const {
  cuda::UpdateRule out;
  describe(out);
  if (lr_device_.defined()) out.lr = lr_device_.const_data_ptr<float>();
  return out;
}

size_t Optimizer::index_of(const at::Tensor& parameter) const {
  const auto found = index_.find(parameter.unsafeGetTensorImpl());
  if (found == index_.end()) {
    throw Error(core::cat("optimizer: a tensor of shape ", parameter.sizes(), " is none of its ",
                          params_.size(), " parameters"));
  }
  return found->second;
}

void Optimizer::load_state(const std::map<std::string, at::Tensor>& saved) {
  auto mine = state();
  for (const auto& [name, tensor] : mine) {
    const auto found = saved.find(name);
    if (found == saved.end()) throw DataError("optimizer state: entry '" + name + "' is missing");
    const at::Tensor& other = found->second;
    if (other.sizes() != tensor.sizes() || other.scalar_type() != tensor.scalar_type()) {
      throw DataError(core::cat("optimizer state: entry '", name, "' is ", other.scalar_type(), " ",
                                other.sizes(), ", expected ", tensor.scalar_type(), " ",
                                tensor.sizes(), ": it belongs to another model or precision"));
    }
  }
  for (const auto& entry : saved) {
    if (mine.count(entry.first) == 0) {
      throw DataError("optimizer state: entry '" + entry.first +
                      "' is unknown here: it belongs to another model or optimizer");
    }
  }
  at::NoGradGuard no_grad;
  for (auto& [name, tensor] : mine) tensor.copy_(saved.at(name));
}

std::vector<at::Tensor> Optimizer::zeros_like_params() const {
  std::vector<at::Tensor> out;
  out.reserve(params_.size());
  for (const auto& param : params_) out.push_back(at::zeros_like(param.value.detach()));
  return out;
}

at::Tensor Optimizer::gradient(size_t index) const {
  const Param& param = params_[index];
  return param.bf16_copy.defined() && param.bf16_copy.grad().defined() ? param.bf16_copy.grad()
                                                                       : param.value.grad();
}

at::Tensor Optimizer::in_layout(size_t index, const at::Tensor& gradient) const {
  const at::Tensor& param = params_[index].value;
  if (device::same_order(gradient, param)) return device::with_strides_of(gradient, param);
  return at::empty_like(param, param.options().dtype(gradient.scalar_type())).copy_(gradient);
}

at::Tensor Optimizer::checked(size_t index, const at::Tensor& gradient) const {
  const auto& [name, param, low] = params_.at(index);
  if (gradient.sizes() != param.sizes() || gradient.scalar_type() != param.scalar_type() ||
      gradient.device() != param.device()) {
    throw Error(core::cat("gradient of '", name, "' is ", gradient.scalar_type(), " ",
                          gradient.sizes(), " on ", gradient.device(), ", expected ",
                          param.scalar_type(), " ", param.sizes(), " on ", param.device()));
  }
  if (!device::same_order(gradient, param)) {
    throw Error(core::cat("gradient of '", name, "' has strides ", gradient.strides(),
                          ", its parameter ", param.strides(),
                          ": make the gradient in the parameter's memory format"));
  }
  return device::with_strides_of(gradient, param);
}

std::unique_ptr<Optimizer> make_optimizer(std::vector<Param> params, const Config& config) {
  check_config(config);
  using Maker = std::unique_ptr<Optimizer> (*)(std::vector<Param>, const Config&);
  constexpr std::pair<const char*, Maker> kMakers[] = {
      {"sgd", make_sgd}, {"adam", make_adam}, {"adamw", make_adamw}};
  return core::find_named(kMakers, config.name, "optimizer", " is unknown")
      .second(std::move(params), config);
}

at::Tensor clip_gradients(const std::vector<at::Tensor>& gradients, double max_norm) {
  if (!(max_norm > 0)) {
    throw UsageError(core::cat("gradient clipping at norm ", core::shortest(max_norm),
                               ": expected more than 0"));
  }
  if (gradients.empty()) return at::zeros({});
  at::NoGradGuard no_grad;
  const at::Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, 2)), 2);
  // Always multiplied, by 1 when the norm is small: asking first would wait for the device.
  at::_foreach_mul_(gradients, (max_norm / (norm + 1e-6)).clamp_max(1.0));
  return norm;
}

}  // namespace adagp::optim

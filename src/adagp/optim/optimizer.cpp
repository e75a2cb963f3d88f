#include "adagp/optim/optimizer.h"

#include <algorithm>
#include <functional>
#include <set>

#include <ATen/ATen.h>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/optim/kinds.h"

namespace adagp::optim {
namespace {

// Whether both tensors hold their elements in the same order in memory. The stride of a dimension
// of size 1 is never used, so 1x1 convolutions are alike in every format.
bool same_order(const at::Tensor& a, const at::Tensor& b) {
  for (int64_t d = 0; d < a.dim(); ++d) {
    if (a.size(d) > 1 && a.stride(d) != b.stride(d)) return false;
  }
  return true;
}

// The CUDA kernels compare strides literally, unused ones too.
at::Tensor with_strides_of(const at::Tensor& gradient, const at::Tensor& param) {
  if (param.is_cpu() || gradient.strides() == param.strides()) return gradient;
  return gradient.as_strided(param.sizes(), param.strides());
}

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
  for (size_t i = 0; i < params_.size(); ++i) {
    const auto& [name, value] = params_[i];
    if (!names.insert(name).second) throw Error("optimizer: two parameters named '" + name + "'");
    if (!value.is_floating_point() || !value.is_non_overlapping_and_dense()) {
      throw Error("optimizer: parameter '" + name + "' is not a dense floating-point tensor");
    }
    index_[value.unsafeGetTensorImpl()] = i;
    decays_.push_back(config.decay_norm_bias || value.dim() > 1 ? config.decay : 0.0);
    on_cpu_ = on_cpu_ && value.is_cpu();
  }
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

std::vector<std::vector<size_t>> Optimizer::groups_with_gradient() const {
  std::vector<std::vector<size_t>> groups(2);
  for (size_t i = 0; i < params_.size(); ++i) {
    if (params_[i].value.grad().defined()) groups[decays_[i] == config_.decay ? 0 : 1].push_back(i);
  }
  std::erase_if(groups, [](const auto& group) { return group.empty(); });
  return groups;
}

at::Tensor Optimizer::gradient_in_layout(size_t index) const {
  const at::Tensor& param = params_[index].value;
  const at::Tensor& gradient = param.grad();
  if (same_order(gradient, param)) return with_strides_of(gradient, param);
  return at::empty_like(param).copy_(gradient);
}

at::Tensor Optimizer::checked(size_t index, const at::Tensor& gradient) const {
  const auto& [name, param] = params_.at(index);
  if (gradient.sizes() != param.sizes() || gradient.scalar_type() != param.scalar_type() ||
      gradient.device() != param.device()) {
    throw Error(core::cat("gradient of '", name, "' is ", gradient.scalar_type(), " ",
                          gradient.sizes(), " on ", gradient.device(), ", expected ",
                          param.scalar_type(), " ", param.sizes(), " on ", param.device()));
  }
  if (!same_order(gradient, param)) {
    throw Error(core::cat("gradient of '", name, "' has strides ", gradient.strides(),
                          ", its parameter ", param.strides(),
                          ": make the gradient in the parameter's memory format"));
  }
  return with_strides_of(gradient, param);
}

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names{"sgd", "adam", "adamw"};
  return names;
}

std::unique_ptr<Optimizer> make_optimizer(std::vector<Param> params, const Config& config) {
  check_config(config);
  if (config.name == "sgd") return make_sgd(std::move(params), config);
  if (config.name == "adam") return make_adam(std::move(params), config, false);
  if (config.name == "adamw") return make_adam(std::move(params), config, true);
  throw UsageError("optimizer '" + config.name + "' is unknown" +
                   core::suggestion(config.name, optimizer_names()));
}

at::Tensor clip_gradients(const std::vector<Param>& params, double max_norm) {
  if (!(max_norm > 0)) {
    throw UsageError(core::cat("gradient clipping at norm ", core::shortest(max_norm),
                               ": expected more than 0"));
  }
  std::vector<at::Tensor> gradients;
  for (const auto& param : params) {
    if (param.value.grad().defined()) gradients.push_back(param.value.grad());
  }
  if (gradients.empty()) return at::zeros({});
  at::NoGradGuard no_grad;
  const at::Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, 2)), 2);
  // Always multiplied, by 1 when the norm is small: asking first would wait for the device.
  at::_foreach_mul_(gradients, (max_norm / (norm + 1e-6)).clamp_max(1.0));
  return norm;
}

}  // namespace adagp::optim

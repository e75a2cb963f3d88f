#pragma once
// SGD and Adam over ATen's operations: fused ones on CUDA and for single parameters, plain ones in
// torch::optim's order on the CPU.

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <torch/types.h>

#include "adagp/optim/config.h"

namespace adagp::optim {

struct Param {
  std::string name;
  at::Tensor value;
};

// One optimizer for exact and predicted gradients. State is zeroed at construction, in the layout
// of its parameter, so every kind of step is the same operation from the first batch on.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Every parameter whose .grad() is defined takes a step. On the CPU bit-identical to
  // torch::optim.
  virtual void step(double lr) = 0;
  // One parameter takes a step with `gradient`, which has the parameter's shape and memory layout
  // (checked: the fused CPU kernels ignore strides). `gradient` may be overwritten. Agrees with
  // step() up to rounding. Throws Error naming the parameter.
  virtual void step_one(size_t index, const at::Tensor& gradient, double lr) = 0;

  const std::vector<Param>& params() const { return params_; }
  size_t index_of(const at::Tensor& parameter) const;  // by identity; throws Error when not found
  // Tensors to save and load by name: "momentum.features.0.weight", "step.features.0.weight", ...
  // They share memory with the optimizer.
  virtual std::map<std::string, at::Tensor> state() const = 0;
  // `saved` holds exactly the entries of state(). Throws DataError naming a missing, unknown or
  // misshapen one; then nothing has changed.
  void load_state(const std::map<std::string, at::Tensor>& saved);

 protected:
  Optimizer(std::vector<Param> params, const Config& config);

  // A zeroed tensor per parameter, in its layout.
  std::vector<at::Tensor> zeros_like_params() const;
  // Indices of the parameters with a gradient, apart by decay: a fused call takes a single decay.
  std::vector<std::vector<size_t>> groups_with_gradient() const;
  // The gradient of parameter `index` as step() takes it: copied into the parameter's layout when
  // it has another.
  at::Tensor gradient_in_layout(size_t index) const;
  // The same for step_one(), where another layout is an error.
  at::Tensor checked(size_t index, const at::Tensor& gradient) const;

  Config config_;
  std::vector<Param> params_;
  std::vector<double> decays_;  // per parameter
  bool on_cpu_ = true;

 private:
  std::unordered_map<const void*, size_t> index_;
};

const std::vector<std::string>& optimizer_names();
// Throws UsageError for an unknown name or an option out of range.
std::unique_ptr<Optimizer> make_optimizer(std::vector<Param> params, const Config& config);

// Scales all defined gradients so that their joint norm is at most `max_norm`, as
// torch.nn.utils.clip_grad_norm_ does; returns the norm before (on the device).
at::Tensor clip_gradients(const std::vector<Param>& params, double max_norm);

}  // namespace adagp::optim

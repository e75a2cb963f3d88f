#pragma once
// SGD and Adam: our kernels on a GPU that runs them, ATen's fused operations on another one and for
// single parameters, plain operations in torch::optim's order on the CPU.

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <torch/types.h>

#include "adagp/base/config/optim_options.h"
#include "adagp/gpu/cuda/optim/optim.h"

namespace adagp::optim {

struct Param {
  std::string name;
  at::Tensor value;
  // A bf16 copy that the network computes with; its .grad() is then the parameter's gradient, and
  // every step refreshes it. Undefined: none.
  at::Tensor bf16_copy = {};
};

// One optimizer for exact and predicted gradients. State is zeroed at construction, in the layout
// of its parameter, so every kind of step is the same operation from the first batch on.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // The rate of the steps to come. On a GPU it lives in device memory, so that a recorded step
  // follows it.
  void set_lr(double lr);
  // Every parameter with a gradient takes a step. On the CPU bit-identical to torch::optim.
  void step();
  void step(double lr) {
    set_lr(lr);
    step();
  }
  // One parameter takes a step with `gradient`, which has the parameter's shape and memory layout
  // (checked: the fused CPU kernels ignore strides). `gradient` may be overwritten. Agrees with
  // step() up to rounding. Throws Error naming the parameter.
  void step_one(size_t index, const at::Tensor& gradient);
  void step_one(size_t index, const at::Tensor& gradient, double lr) {
    set_lr(lr);
    step_one(index, gradient);
  }
  // The next step() acts on gradients whose joint norm is at most `max_norm`, as
  // torch.nn.utils.clip_grad_norm_ would leave them.
  void clip(double max_norm);
  void clear_gradients();
  // Moves every parameter to where `factor` steps at the present rate along its moments would take
  // it: w - factor * lr * v. bf16 copies follow.
  void look_ahead(double factor);
  // After the parameters were changed from outside.
  void refresh_bf16_copies();

  // For kernels that carry the update in their own epilogue.
  bool kernels() const { return kernels_; }
  cuda::ParamSlot slot(size_t index) const;  // without a gradient
  cuda::UpdateRule rule() const;

  const std::vector<Param>& params() const { return params_; }
  // The gradient that step() takes: of the copy or of the parameter; undefined when there is none.
  at::Tensor gradient(size_t index) const;
  size_t index_of(const at::Tensor& parameter) const;  // by identity; throws Error when not found
  // Tensors to save and load by name: "momentum.features.0.weight", "step.features.0.weight", ...
  // They share memory with the optimizer.
  virtual std::map<std::string, at::Tensor> state() const = 0;
  // `saved` holds exactly the entries of state(). Throws DataError naming a missing, unknown or
  // misshapen one; then nothing has changed.
  void load_state(const std::map<std::string, at::Tensor>& saved);

 protected:
  Optimizer(std::vector<Param> params, const Config& config);

  // What the moments say a step at rate 1 is; undefined: there are none.
  virtual at::Tensor direction(size_t index) const = 0;

  // What a kind of optimizer is: the same formula three times.
  // torch::optim's operations one by one, for one parameter.
  virtual void plain_step(size_t index, const at::Tensor& gradient) = 0;
  // ATen's fused operation for parameters of equal decay.
  virtual void fused_step(const std::vector<size_t>& indices, at::TensorList values,
                          at::TensorList gradients) = 0;
  // Our kernel.
  virtual void describe(size_t index, cuda::ParamSlot& slot) const = 0;
  virtual void describe(cuda::UpdateRule& rule) const = 0;

  // A zeroed tensor per parameter, in its layout.
  std::vector<at::Tensor> zeros_like_params() const;

  Config config_;
  std::vector<Param> params_;
  std::vector<double> decays_;  // per parameter
  double lr_ = 0;
  at::Tensor lr_device_;  // float [1], on a GPU

 private:
  // Copied into the parameter's layout when it has another.
  at::Tensor in_layout(size_t index, const at::Tensor& gradient) const;
  // For step_one(), where another layout is an error.
  at::Tensor checked(size_t index, const at::Tensor& gradient) const;
  void run_kernel(const std::vector<size_t>& indices, const std::vector<at::Tensor>& gradients);
  void run_fused(const std::vector<size_t>& indices, const std::vector<at::Tensor>& gradients);
  void copy_to_bf16(size_t index);

  bool on_cpu_ = true, kernels_ = false, clipped_ = false;
  at::Tensor clip_;  // float [2] on a GPU: the norm, the factor
  std::unordered_map<const void*, size_t> index_;
};

// Throws UsageError for an unknown name or an option out of range.
std::unique_ptr<Optimizer> make_optimizer(std::vector<Param> params, const Config& config);

// Scales the gradients so that their joint norm is at most `max_norm`; returns the norm before (on
// the device).
at::Tensor clip_gradients(const std::vector<at::Tensor>& gradients, double max_norm);

}  // namespace adagp::optim

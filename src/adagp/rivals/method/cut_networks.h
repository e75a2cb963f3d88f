#pragma once
// Small networks behind the cuts, which method modules has for some of its signals.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "adagp/rivals/method/modules.h"

namespace adagp::method {

class CutNetwork : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x) = 0;
  // Multiplications of one example. Backward: the gradients of the weights and of the input.
  virtual double macs() const = 0;
  virtual double backward_macs() const { return 2 * macs(); }
};

// Networks that learn gradients have Adam and this rate, which follows the network's. At the
// network's own rate SGD diverges there: the error of a gradient has no natural size.
inline constexpr double kCutRate = 1e-3;
optim::Config adam_of_cuts();

// One network behind each cut, and their optimizer.
class CutNetworks {
 public:
  // Makes one for what crosses a cut, [1, C, H, W] or [1, C]: a shape alone.
  using Maker = std::function<std::shared_ptr<CutNetwork>(const at::Tensor& x, int64_t classes)>;

  // Throws UsageError for a task without classes and for batches of one example.
  CutNetworks(const step::Session& session, const std::vector<at::Tensor>& shapes,
              const optim::Config& optimizer, const Maker& make);

  void set_lr(double rate);
  at::Tensor run(const step::Session& session, size_t cut, const at::Tensor& x) const;
  double macs(size_t cut) const { return networks_[cut]->macs(); }
  double backward_macs(size_t cut) const { return networks_[cut]->backward_macs(); }
  std::vector<at::Tensor> parameters(size_t cut) const { return networks_[cut]->parameters(); }
  // All take a step with the gradients they have.
  void update(const step::Session& session);

  std::map<std::string, at::Tensor> state() const;
  void load_state(const std::map<std::string, at::Tensor>& state);

 private:
  std::vector<std::shared_ptr<CutNetwork>> networks_;
  std::unique_ptr<optim::Optimizer> optimizer_;  // null: there are none
};

}  // namespace adagp::method

#pragma once
// The running root mean square of each layer's true gradient: the unit in which it is predicted.

#include <map>
#include <string>
#include <vector>

#include <torch/types.h>

#include "adagp/engine/nn/layer.h"

namespace adagp::predictor {

// Paths in the model; numbers for layers that nobody collected.
std::vector<std::string> layer_names(const std::vector<nn::WeightLayer*>& layers);
std::vector<std::string> names_but_last(const std::vector<nn::WeightLayer*>& layers);

class RunningRms {
 public:
  // enabled = false ("raw"): every scale stays 1.
  RunningRms(std::vector<std::string> layers, bool enabled, at::TensorOptions options);

  // Mean square of `gradient` into the moving average; the first one sets it.
  void update(size_t layer, const at::Tensor& gradient);
  at::Tensor scale(size_t layer) const;  // 0-dim, on the device; 1 before the first update

  // For kernels that keep the averages of all layers themselves: [layers] each.
  static constexpr double kDecay = 0.95;
  bool enabled() const { return enabled_; }
  const at::Tensor& mean_square() const { return mean_square_; }
  const at::Tensor& scale() const { return scale_; }
  bool seen(size_t layer) const { return seen_[layer]; }
  void mark_seen();  // all layers have a first value

  // By the layers' names, so that processes with other shares of the layers can take it over.
  std::map<std::string, at::Tensor> state() const;
  void load_state(const std::map<std::string, at::Tensor>& state);

 private:
  std::vector<std::string> names_;
  bool enabled_;
  at::Tensor mean_square_;  // [layers]
  at::Tensor scale_;        // [layers]
  std::vector<bool> seen_;
};

}  // namespace adagp::predictor

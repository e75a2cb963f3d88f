#pragma once
// The running root mean square of each layer's true gradient: the unit in which it is predicted.

#include <map>
#include <string>
#include <vector>

#include <torch/types.h>

namespace adagp::predictor {

class RunningRms {
 public:
  // enabled = false ("raw"): every scale stays 1.
  RunningRms(size_t layers, double decay, bool enabled, at::TensorOptions options);

  // Mean square of `gradient` into the moving average; the first one sets it.
  void update(size_t layer, const at::Tensor& gradient);
  at::Tensor scale(size_t layer) const;  // 0-dim, on the device; 1 before the first update

  // For kernels that keep the averages of all layers themselves: [layers] each.
  const at::Tensor& mean_square() const { return mean_square_; }
  const at::Tensor& scale() const { return scale_; }
  bool seen(size_t layer) const { return seen_[layer]; }
  void mark_seen();  // all layers have a first value

  std::map<std::string, at::Tensor> state() const;
  void load_state(const std::map<std::string, at::Tensor>& state);

 private:
  double decay_;
  bool enabled_;
  at::Tensor mean_square_;  // [layers]
  at::Tensor scale_;        // [layers]
  std::vector<bool> seen_;
};

}  // namespace adagp::predictor

#pragma once
// How good are the gradients a method puts in the place of the true ones? Measured on BP batches,
// where both exist (Fig. 15 of the paper, and more).

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <torch/types.h>

#include "adagp/predictor/predictor.h"

namespace adagp::train {

// g: true gradient of this batch, h: its substitute, G: true gradient of the BP batch before.
struct ProbeValues {
  double cosine = 0;          // <h, g> / (|h| |g|)
  double relative_error = 0;  // |h - g| / |g|
  double norm_ratio = 0;      // |h| / |g|
  double r2 = 0;              // 1 - |h - g|^2 / |g - mean(g)|^2
  double mse = 0;             // mean (h - g)^2
  double mape = 0;            // mean |h - g| / |g| in percent, over entries with g != 0
  double q = 0;  // <h, G> / <g, G>: progress on other data, relative to the true gradient

  static const std::vector<std::string>& names();
  std::vector<double> list() const;
};

class Probes {
 public:
  // `every`: distance in BP batches; 0 = never.
  Probes(size_t layers, int64_t every) : layers_(layers), every_(every) {}

  // Whether the BP batch number `count` (from 0) has to be shown to see().
  bool wants(int64_t count) const;

  using Emit = std::function<void(predictor::GradientSink&)>;
  // Shown BP batch `count`: measures what `emit` gives against `gradients` when it is a probe's
  // turn, and keeps the gradients when the next batch is.
  void see(int64_t count, const std::vector<at::Tensor>& gradients, const Emit& emit);

  // Seconds spent in see() since the last call: measuring is not training.
  double take_seconds() { return std::exchange(seconds_, 0.0); }

  bool measured() const { return probes_ > 0; }
  const std::vector<ProbeValues>& last() const { return last_; }  // per layer
  // The mean cosine over layers and probes, and q over the network and the run; nothing before the
  // first probe, or where nothing is defined.
  std::optional<double> mean_cosine() const;
  std::optional<double> mean_q() const;
  std::optional<double> last_cosine() const;

  std::map<std::string, at::Tensor> state() const;
  void load_state(const std::map<std::string, at::Tensor>& state);

 private:
  size_t layers_;
  int64_t every_;
  int64_t probes_ = 0;
  double seconds_ = 0;
  std::vector<ProbeValues> last_;
  double cosine_sum_ = 0, h_before_sum_ = 0, g_before_sum_ = 0;
  int64_t cosine_count_ = 0;
  std::vector<at::Tensor> before_;  // G by layer, flat, when the BP batch before was kept
};

}  // namespace adagp::train

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

#include "adagp/engine/predictor/predictor.h"

namespace adagp::method {

// g: true gradient of this batch, h: its substitute, G: true gradient of the BP batch before.
struct ProbeValues {
  double cosine = 0;          // <h, g> / (|h| |g|)
  double relative_error = 0;  // |h - g| / |g|
  double norm_ratio = 0;      // |h| / |g|
  double r2 = 0;              // 1 - |h - g|^2 / |g - mean(g)|^2
  double mse = 0;             // mean (h - g)^2
  double mape = 0;            // mean |h - g| / |g| in percent, over entries with g != 0
  double q = 0;  // <h, G> / <g, G>: progress on other data, relative to the true gradient
  // Cosine of the mean h with the mean g over the probes so far, of at most kSampled entries of a
  // layer, evenly spread: what stays of a prediction when the batches' chance is averaged out.
  double bias = 0;
  static constexpr int64_t kSampled = 1 << 15;

  static const std::vector<std::string>& names();
  std::vector<double> list() const;
};

class Probes {
 public:
  // `every`: distance in BP batches; 0 = never.
  Probes(size_t layers, int64_t every) : layers_(layers), every_(every) {}

  // What there is to do in BP batch number `count` (from 0): measure when it is a probe's turn,
  // keep the gradients when the next batch is one.
  struct Turn {
    bool measure = false, keep = false;
    bool any() const { return measure || keep; }
    bool operator<(const Turn& other) const {
      return std::pair(measure, keep) < std::pair(other.measure, other.keep);
    }
  };
  Turn turn(int64_t count) const;

  // Before a BP batch, around see(), and after it. Only see() works on the device, so that it may
  // be recorded once and replayed; `emit` gives what is measured against `gradients`.
  void begin(const Turn& turn);
  using Emit = std::function<void(predictor::GradientSink&)>;
  void see(const std::vector<at::Tensor>& gradients, const Emit& emit);
  void end();
  // Waits for the device and counts what was measured since the last call. The figures below are of
  // then.
  void collect();

  // Seconds the CPU spent in see() since the last call: measuring is not training. On a GPU, which
  // is not asked for the time, measuring stays on the clock.
  double take_seconds() { return std::exchange(seconds_, 0.0); }

  bool measured() const { return probes_ > 0; }
  const std::vector<ProbeValues>& last() const { return last_; }  // per layer
  // The mean cosine over layers and probes, and q over the network and the run; nothing before the
  // first probe, or where nothing is defined.
  std::optional<double> mean_cosine() const;
  std::optional<double> mean_q() const;
  std::optional<double> last_cosine() const;
  std::optional<double> bias() const;  // the mean over layers, at the latest probe

  std::map<std::string, at::Tensor> state() const;
  void load_state(const std::map<std::string, at::Tensor>& state);

 private:
  size_t layers_;
  int64_t every_;
  Turn turn_;
  bool kept_ = false;                // before_ is of the BP batch before
  at::Tensor sums_;                  // double [layers, sums] on the device, of the latest measure
  std::vector<double> sizes_;        // entries by layer
  std::vector<at::Tensor> waiting_;  // copies of sums_ not yet collected
  int64_t probes_ = 0;
  double seconds_ = 0;
  std::vector<ProbeValues> last_;
  double cosine_sum_ = 0, h_before_sum_ = 0, g_before_sum_ = 0;
  int64_t cosine_count_ = 0;
  std::vector<at::Tensor> before_;  // G by layer, flat: of the latest kept BP batch
  std::vector<at::Tensor> totals_;  // by layer [2, sampled]: sums of h and g over the probes
};

}  // namespace adagp::method

#pragma once
// Seconds of training: batches alone. The clock stands still for evaluations and checkpoints, and
// for the time in which the process was stopped.

#include "adagp/base/core/stopped_time.h"
#include "adagp/engine/metrics/timer.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::train {

class TrainingClock {
 public:
  explicit TrainingClock(at::Device device) : device_(device) {}

  void start() { watch_.restart(); }
  double running() const { return watch_.seconds(); }
  // Seconds since start(), when the device has done what it was given.
  double stop() {
    device::synchronise(device_);
    return watch_.restart();
  }

  // Forgets what was before the run.
  void begin_run() { told_ = stopped(); }
  // How long the process stood still since the last call; 0 where that is not worth telling.
  double stood_still() {
    constexpr double kWorthTelling = 0.5;
    const double seconds = stopped() - told_;
    if (seconds < kWorthTelling) return 0;
    told_ += seconds;
    return seconds;
  }

 private:
  static double stopped() { return core::stopped_seconds() + core::suspended_seconds(); }

  at::Device device_;
  metrics::Stopwatch watch_;
  double told_ = 0;
};

}  // namespace adagp::train

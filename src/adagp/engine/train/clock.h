#pragma once
// Seconds of training: batches alone. The clock stands still for evaluations and checkpoints.

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

 private:
  at::Device device_;
  metrics::Stopwatch watch_;
};

}  // namespace adagp::train

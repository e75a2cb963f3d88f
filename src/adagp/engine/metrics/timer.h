#pragma once
// Seconds that passed. On a GPU the caller decides when to wait for the device. No torch here.

#include <chrono>

#include "adagp/base/core/stopped_time.h"

namespace adagp::metrics {

// Leaves out the time in which the process was stopped, where a core::StoppedTimeWatch lives.
class Stopwatch {
 public:
  double seconds() const;  // since construction or restart
  double restart();        // the seconds so far, and begins anew

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
  double stopped_before_ = core::stopped_seconds();
};

}  // namespace adagp::metrics

#pragma once
// Seconds that passed. On a GPU the caller decides when to wait for the device. No torch here.

#include <chrono>
#include <utility>

namespace adagp::metrics {

class Stopwatch {
 public:
  // Since construction or restart.
  double seconds() const { return since(start_, Clock::now()); }
  // The seconds so far, and begins anew.
  double restart() {
    const auto now = Clock::now();
    return since(std::exchange(start_, now), now);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point begin, Clock::time_point end) {
    return std::chrono::duration<double>(end - begin).count();
  }
  Clock::time_point start_ = Clock::now();
};

}  // namespace adagp::metrics

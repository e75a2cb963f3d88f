#pragma once
// Seconds, by phase. On a GPU the caller decides when to wait for the device. No torch here.

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "adagp/core/stopped_time.h"

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

// Durations of steps, apart by phase ("bp", "gp", "data", ...): totals over everything, medians
// over the latest `window` steps, which one slow step does not move.
class StepTimer {
 public:
  explicit StepTimer(size_t window = 101) : window_(window) {}

  void add(const std::string& phase, double seconds);
  double total(const std::string& phase) const;  // 0 for a phase never seen
  double total() const;
  int64_t count(const std::string& phase) const;
  double median(const std::string& phase) const;  // NaN for a phase never seen
  void reset() { phases_.clear(); }

  // By phase: {total, count, the window from oldest to newest ...}.
  std::map<std::string, std::vector<double>> state() const;
  void load_state(const std::map<std::string, std::vector<double>>& state);  // throws DataError

 private:
  struct Phase {
    double total = 0;
    int64_t count = 0;
    std::deque<double> latest;
  };
  size_t window_;
  std::map<std::string, Phase> phases_;
};

}  // namespace adagp::metrics

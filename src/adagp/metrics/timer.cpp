#include "adagp/metrics/timer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "adagp/core/error.h"
#include "adagp/core/text.h"

namespace adagp::metrics {

double Stopwatch::seconds() const {
  const double stopped = core::stopped_seconds() - stopped_before_;
  return std::chrono::duration<double>(Clock::now() - start_).count() - stopped;
}

double Stopwatch::restart() {
  const double stopped = core::stopped_seconds();
  const auto now = Clock::now();
  const double passed =
      std::chrono::duration<double>(now - start_).count() - (stopped - stopped_before_);
  start_ = now;
  stopped_before_ = stopped;
  return passed;
}

void StepTimer::add(const std::string& phase, double seconds) {
  Phase& entry = phases_[phase];
  entry.total += seconds;
  ++entry.count;
  entry.latest.push_back(seconds);
  if (entry.latest.size() > window_) entry.latest.pop_front();
}

double StepTimer::total(const std::string& phase) const {
  const auto found = phases_.find(phase);
  return found == phases_.end() ? 0.0 : found->second.total;
}

double StepTimer::total() const {
  double sum = 0;
  for (const auto& entry : phases_) sum += entry.second.total;
  return sum;
}

int64_t StepTimer::count(const std::string& phase) const {
  const auto found = phases_.find(phase);
  return found == phases_.end() ? 0 : found->second.count;
}

double StepTimer::median(const std::string& phase) const {
  const auto found = phases_.find(phase);
  if (found == phases_.end() || found->second.latest.empty()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  std::vector<double> sorted(found->second.latest.begin(), found->second.latest.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

std::map<std::string, std::vector<double>> StepTimer::state() const {
  std::map<std::string, std::vector<double>> out;
  for (const auto& [name, phase] : phases_) {
    auto& numbers = out[name];
    numbers = {phase.total, static_cast<double>(phase.count)};
    numbers.insert(numbers.end(), phase.latest.begin(), phase.latest.end());
  }
  return out;
}

void StepTimer::load_state(const std::map<std::string, std::vector<double>>& state) {
  std::map<std::string, Phase> loaded;
  for (const auto& [name, numbers] : state) {
    if (numbers.size() < 2) {
      throw DataError(core::cat("saved step times: phase '", name, "' has ", numbers.size(),
                                " numbers, expected at least 2"));
    }
    Phase& phase = loaded[name];
    phase.total = numbers[0];
    phase.count = std::llround(numbers[1]);
    const size_t kept = std::min(window_, numbers.size() - 2);
    phase.latest.assign(numbers.end() - static_cast<std::ptrdiff_t>(kept), numbers.end());
  }
  phases_ = std::move(loaded);
}

}  // namespace adagp::metrics

#include <algorithm>
#include <cmath>
#include <numbers>

#include "adagp/base/schedule/policies.h"

namespace adagp::schedule {
namespace {

double cosine_between(double from, double to, double done) {
  return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * done));
}

// From base/div up to base, then down to base/div/10,000 with the last batch.
class OneCycle final : public Policy {
 public:
  OneCycle(const PolicyConfig& config, const Horizon& run)
      : start_(run.base / config.div),
        peak_(run.base),
        end_(start_ / kFinal),
        top_(config.peak * static_cast<double>(run.total) - 1),
        last_(static_cast<double>(run.total - 1)) {}

  double lr(int64_t step) const override {
    const double at = std::min(static_cast<double>(step), last_);
    if (at <= top_) return top_ > 0 ? cosine_between(start_, peak_, at / top_) : peak_;
    return cosine_between(peak_, end_, (at - top_) / (last_ - top_));
  }

 private:
  static constexpr double kFinal = 1e4;  // PyTorch's final_div_factor

  double start_, peak_, end_;
  double top_;   // the step of the peak, a fraction in general
  double last_;  // the last step
};

}  // namespace

std::unique_ptr<Policy> make_one_cycle(const PolicyConfig& config, const Horizon& run) {
  check_policy_option("peak", config.peak, config.peak >= 0 && config.peak <= 1, "0 <= peak <= 1");
  check_policy_option("div", config.div, config.div > 0, "more than 0");
  return std::make_unique<OneCycle>(config, run);
}

}  // namespace adagp::schedule

#include <algorithm>
#include <cmath>

#include "adagp/base/schedule/policies.h"

namespace adagp::schedule {
namespace {

// Linear up, linear down to zero. Ends small but not at zero, so that the last batch still counts.
class Triangle final : public Policy {
 public:
  Triangle(double base, int64_t up, int64_t total) : base_(base), up_(up), total_(total) {}

  double lr(int64_t step) const override {
    if (step < up_) return base_ * warmup_share(step, up_);
    if (step >= total_) return 0;
    return base_ * static_cast<double>(total_ - step) / static_cast<double>(total_ - up_);
  }

 private:
  double base_;
  int64_t up_, total_;
};

}  // namespace

std::unique_ptr<Policy> make_triangle(const PolicyConfig& config, const Horizon& run) {
  check_policy_option("peak", config.peak, config.peak >= 0 && config.peak <= 1, "0 <= peak <= 1");
  const auto up = std::llround(config.peak * static_cast<double>(run.total));
  return std::make_unique<Triangle>(run.base, up, run.total);
}

}  // namespace adagp::schedule

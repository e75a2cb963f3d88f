#include <algorithm>
#include <cmath>
#include <numbers>

#include "adagp/base/schedule/policies.h"

namespace adagp::schedule {
namespace {

// Half a cosine from the base rate to the floor, after the warm-up.
class Cosine final : public Policy {
 public:
  Cosine(double base, double floor, int64_t warmup, int64_t total)
      : base_(base), floor_(floor), warmup_(warmup), total_(total) {}

  double lr(int64_t step) const override {
    if (step < warmup_) return base_ * warmup_share(step, warmup_);
    if (step >= total_) return floor_;
    const double done = static_cast<double>(step - warmup_) / static_cast<double>(total_ - warmup_);
    return floor_ + (base_ - floor_) * (1 + std::cos(std::numbers::pi * done)) / 2;
  }

 private:
  double base_, floor_;
  int64_t warmup_, total_;
};

}  // namespace

std::unique_ptr<Policy> make_cosine(const PolicyConfig& config, const Horizon& run) {
  check_policy_option("floor", config.floor, config.floor >= 0, "0 or more");
  return std::make_unique<Cosine>(run.base, config.floor, run.batches("warmup", config.warmup),
                                  run.total);
}

}  // namespace adagp::schedule

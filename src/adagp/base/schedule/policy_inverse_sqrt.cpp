#include <algorithm>
#include <cmath>

#include "adagp/base/schedule/policies.h"

namespace adagp::schedule {
namespace {

// Linear warm-up to the base rate, then falling with the square root of the batches seen.
class InverseSqrt final : public Policy {
 public:
  InverseSqrt(double base, int64_t warmup) : base_(base), warmup_(warmup) {}

  double lr(int64_t step) const override {
    if (step < warmup_) return base_ * warmup_share(step, warmup_);
    return base_ * std::sqrt(static_cast<double>(warmup_) / static_cast<double>(step + 1));
  }

 private:
  double base_;
  int64_t warmup_;
};

}  // namespace

std::unique_ptr<Policy> make_inverse_sqrt(const PolicyConfig& config, const Horizon& run) {
  const int64_t warmup = run.batches("warmup", config.warmup);
  return std::make_unique<InverseSqrt>(run.base, std::max<int64_t>(1, warmup));
}

}  // namespace adagp::schedule

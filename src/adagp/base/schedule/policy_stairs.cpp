#include <algorithm>
#include <cmath>

#include "adagp/base/core/error.h"
#include "adagp/base/schedule/policies.h"

namespace adagp::schedule {
namespace {

// One factor `gamma` for every stair gone down: every `every` batches, and at each milestone.
class Stairs final : public Policy {
 public:
  Stairs(double base, double gamma, int64_t warmup, int64_t every, std::vector<int64_t> milestones)
      : base_(base),
        gamma_(gamma),
        warmup_(warmup),
        every_(every),
        milestones_(std::move(milestones)) {
    std::sort(milestones_.begin(), milestones_.end());
  }

  double lr(int64_t step) const override {
    int64_t stairs = every_ > 0 ? step / every_ : 0;
    stairs += std::upper_bound(milestones_.begin(), milestones_.end(), step) - milestones_.begin();
    return base_ * std::pow(gamma_, static_cast<double>(stairs)) * warmup_share(step, warmup_);
  }

 private:
  double base_, gamma_;
  int64_t warmup_;
  int64_t every_;  // 0 = never
  std::vector<int64_t> milestones_;
};

void check_gamma(const PolicyConfig& config) {
  check_policy_option("gamma", config.gamma, config.gamma > 0 && config.gamma <= 1,
                      "0 < gamma <= 1");
}

}  // namespace

std::unique_ptr<Policy> make_constant(const PolicyConfig& config, const Horizon& run) {
  return std::make_unique<Stairs>(run.base, 1.0, run.batches("warmup", config.warmup), 0,
                                  std::vector<int64_t>{});
}

std::unique_ptr<Policy> make_step(const PolicyConfig& config, const Horizon& run) {
  check_gamma(config);
  const int64_t every = run.batches("every", config.every);
  if (every < 1) {
    throw UsageError("learning-rate policy step: every = '" + config.every +
                     "': expected at least one batch, such as 30ep");
  }
  return std::make_unique<Stairs>(run.base, config.gamma, run.batches("warmup", config.warmup),
                                  every, std::vector<int64_t>{});
}

std::unique_ptr<Policy> make_multi_step(const PolicyConfig& config, const Horizon& run) {
  check_gamma(config);
  if (config.milestones.empty()) {
    throw UsageError(
        "learning-rate policy multi-step: milestones are missing, such as [\"30ep\", \"60ep\"]");
  }
  std::vector<int64_t> milestones;
  for (const auto& text : config.milestones) milestones.push_back(run.batches("milestones", text));
  return std::make_unique<Stairs>(run.base, config.gamma, run.batches("warmup", config.warmup), 0,
                                  std::move(milestones));
}

}  // namespace adagp::schedule

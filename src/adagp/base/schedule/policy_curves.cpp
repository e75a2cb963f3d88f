// Policies that are a function of the step alone.

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/schedule/policies.h"

namespace adagp::schedule {
namespace {

class Curve final : public Policy {
 public:
  explicit Curve(std::function<double(int64_t)> rate) : rate_(std::move(rate)) {}
  double lr(int64_t step) const override { return rate_(step); }

 private:
  std::function<double(int64_t)> rate_;
};

std::unique_ptr<Policy> curve(std::function<double(int64_t)> rate) {
  return std::make_unique<Curve>(std::move(rate));
}

// One factor `gamma` for every stair gone down: every `every` batches (0: never), and at each
// milestone.
std::unique_ptr<Policy> stairs(const PolicyConfig& config, const Horizon& run, double gamma,
                               int64_t every, std::vector<int64_t> milestones) {
  std::sort(milestones.begin(), milestones.end());
  const int64_t warmup = run.batches("warmup", config.warmup);
  return curve([base = run.base, gamma, every, warmup, milestones](int64_t step) {
    int64_t down = every > 0 ? step / every : 0;
    down += std::upper_bound(milestones.begin(), milestones.end(), step) - milestones.begin();
    return base * std::pow(gamma, static_cast<double>(down)) * warmup_share(step, warmup);
  });
}

void check_gamma(const PolicyConfig& config) {
  check_policy_option("gamma", config.gamma, config.gamma > 0 && config.gamma <= 1,
                      "0 < gamma <= 1");
}

void check_peak(const PolicyConfig& config) {
  check_policy_option("peak", config.peak, config.peak >= 0 && config.peak <= 1, "0 <= peak <= 1");
}

double cosine_between(double from, double to, double done) {
  return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * done));
}

}  // namespace

std::unique_ptr<Policy> make_constant(const PolicyConfig& config, const Horizon& run) {
  return stairs(config, run, 1, 0, {});
}

std::unique_ptr<Policy> make_step(const PolicyConfig& config, const Horizon& run) {
  check_gamma(config);
  const int64_t every = run.batches("every", config.every);
  if (every < 1) {
    throw UsageError("learning-rate policy step: every = '" + config.every +
                     "': expected at least one batch, such as 30ep");
  }
  return stairs(config, run, config.gamma, every, {});
}

std::unique_ptr<Policy> make_multi_step(const PolicyConfig& config, const Horizon& run) {
  check_gamma(config);
  if (config.milestones.empty()) {
    throw UsageError(
        "learning-rate policy multi-step: milestones are missing, such as [\"30ep\", \"60ep\"]");
  }
  std::vector<int64_t> milestones;
  for (const auto& text : config.milestones) milestones.push_back(run.batches("milestones", text));
  return stairs(config, run, config.gamma, 0, std::move(milestones));
}

// Linear warm-up to the base rate, then falling with the square root of the batches seen.
std::unique_ptr<Policy> make_inverse_sqrt(const PolicyConfig& config, const Horizon& run) {
  const int64_t warmup = std::max<int64_t>(1, run.batches("warmup", config.warmup));
  return curve([base = run.base, warmup](int64_t step) {
    if (step < warmup) return base * warmup_share(step, warmup);
    return base * std::sqrt(static_cast<double>(warmup) / static_cast<double>(step + 1));
  });
}

// Linear up, linear down to zero. Ends small but not at zero, so that the last batch still counts.
std::unique_ptr<Policy> make_triangle(const PolicyConfig& config, const Horizon& run) {
  check_peak(config);
  const int64_t up = std::llround(config.peak * static_cast<double>(run.total));
  return curve([base = run.base, up, total = run.total](int64_t step) {
    if (step < up) return base * warmup_share(step, up);
    if (step >= total) return 0.0;
    return base * static_cast<double>(total - step) / static_cast<double>(total - up);
  });
}

// Half a cosine from the base rate to the floor, after the warm-up.
std::unique_ptr<Policy> make_cosine(const PolicyConfig& config, const Horizon& run) {
  check_policy_option("floor", config.floor, config.floor >= 0, "0 or more");
  const int64_t warmup = run.batches("warmup", config.warmup);
  return curve([base = run.base, floor = config.floor, warmup, total = run.total](int64_t step) {
    if (step < warmup) return base * warmup_share(step, warmup);
    if (step >= total) return floor;
    const double done = static_cast<double>(step - warmup) / static_cast<double>(total - warmup);
    return floor + (base - floor) * (1 + std::cos(std::numbers::pi * done)) / 2;
  });
}

// From base/div up to base, then down to base/div/10,000 with the last batch.
std::unique_ptr<Policy> make_one_cycle(const PolicyConfig& config, const Horizon& run) {
  check_peak(config);
  check_policy_option("div", config.div, config.div > 0, "more than 0");
  constexpr double kFinal = 1e4;  // PyTorch's final_div_factor
  const double peak = run.base, start = peak / config.div, end = start / kFinal;
  // The step of the peak, a fraction in general, and the last step.
  const double top = config.peak * static_cast<double>(run.total) - 1;
  const auto last = static_cast<double>(run.total - 1);
  return curve([=](int64_t step) {
    const double at = std::min(static_cast<double>(step), last);
    if (at <= top) return top > 0 ? cosine_between(start, peak, at / top) : peak;
    return cosine_between(peak, end, (at - top) / (last - top));
  });
}

}  // namespace adagp::schedule

#include <algorithm>
#include <limits>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/base/schedule/policies.h"

namespace adagp::schedule {
namespace {

// Multiplies the rate by `factor` after more than `patience` epochs without a better loss.
class Plateau final : public Policy {
 public:
  Plateau(const PolicyConfig& config, double base) : config_(config), base_(base), lr_(base) {}

  double lr(int64_t) const override { return lr_; }
  double fallen() const override { return base_ > 0 ? lr_ / base_ : 1; }

  void epoch_end(double loss) override {
    if (loss < best_ * (1 - config_.threshold)) {
      best_ = loss;
      bad_epochs_ = 0;
    } else {
      ++bad_epochs_;
    }
    if (bad_epochs_ > config_.patience) {
      const double lower = lr_ * config_.factor;
      if (lr_ - lower > kLeastChange) lr_ = lower;
      bad_epochs_ = 0;
    }
  }

  std::vector<double> state() const override {
    return {lr_, best_, static_cast<double>(bad_epochs_)};
  }

  void load_state(const std::vector<double>& state) override {
    if (state.size() != 3) {
      throw DataError(
          core::cat("learning-rate policy plateau: ", state.size(), " saved numbers, expected 3"));
    }
    lr_ = state[0];
    best_ = state[1];
    bad_epochs_ = static_cast<int64_t>(state[2]);
  }

 private:
  static constexpr double kLeastChange = 1e-8;  // PyTorch's eps

  PolicyConfig config_;
  double base_, lr_;
  double best_ = std::numeric_limits<double>::max();  // finite: it goes into a checkpoint
  int64_t bad_epochs_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_plateau(const PolicyConfig& config, const Horizon& run) {
  check_policy_option("factor", config.factor, config.factor > 0 && config.factor < 1,
                      "0 < factor < 1");
  check_policy_option("patience", static_cast<double>(config.patience), config.patience >= 0,
                      "0 or more");
  return std::make_unique<Plateau>(config, run.base);
}

}  // namespace adagp::schedule

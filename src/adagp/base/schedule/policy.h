#pragma once
// Learning-rate policies: functions of the step, counted in batches seen. Only plateau has state.
// No torch here.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "adagp/base/schedule/policy_config.h"

namespace adagp::schedule {

// lr(step) for step = 0, 1, ..., total-1: the rate used by that batch. With b the base rate, n the
// total, w the warm-up in batches:
//   constant      b
//   step          b * gamma^(step / every), whole stairs
//   multi-step    b * gamma^(milestones passed)
//   cosine        floor + (b - floor) * (1 + cos(pi * (step - w) / (n - w))) / 2
//   one-cycle     PyTorch's OneCycleLR, cosine, two phases, no cycling of momentum:
//                 b/div -> b up to step peak*n - 1, then -> b/div/10,000 at step n - 1
//   triangle      b * (step + 1) / up before step up = round(peak * n), then b * (n - step) / (n -
//   up):
//                 it reaches b at the steps up - 1 and up, and would be 0 at step n
//   inverse-sqrt  b * min((step + 1) / w, sqrt(w / (step + 1))), w at least 1
//   plateau       PyTorch's ReduceLROnPlateau over the losses told to epoch_end()
// A warm-up multiplies constant, step and multi-step by min(1, (step + 1) / w); milestones still
// count from the start of the run. Cosine climbs b * (step + 1) / w first.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual double lr(int64_t step) const = 0;
  // Told the watched loss after each epoch; only plateau listens.
  virtual void epoch_end(double loss) { (void)loss; }
  // Plateau: the present rate by the first one; others: 1.
  virtual double fallen() const { return 1; }
  // For the checkpoint: finite numbers.
  virtual std::vector<double> state() const { return {}; }
  // Throws DataError when `state` is not one of this policy.
  virtual void load_state(const std::vector<double>& state);
};

const std::vector<std::string>& policy_names();
// `total` steps in all, `per_epoch` of them in an epoch. Throws UsageError.
std::unique_ptr<Policy> make_policy(const PolicyConfig& config, double base_lr, int64_t total,
                                    int64_t per_epoch);

}  // namespace adagp::schedule

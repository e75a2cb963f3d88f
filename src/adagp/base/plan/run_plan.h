#pragma once
// The batches of a whole run, epoch by epoch: which examples, how many at once, and which share of
// the run's examples was seen. Pure functions of (configuration, seed, epoch, last losses). No
// torch here.

#include <cstdint>
#include <vector>

#include "adagp/base/config/run_config.h"
#include "adagp/base/plan/batch_plan.h"
#include "adagp/base/plan/epoch_plan.h"
#include "adagp/base/plan/selection.h"

namespace adagp::plan {

// In a table of losses, of an example that was not seen yet; losses are never negative.
inline constexpr float kUnseen = -1;

class RunPlan {
 public:
  // Of the configuration it reads seed, epochs, batch and the keys of the rule. Without a rule
  // every epoch has all examples.
  RunPlan(config::RunConfig config, schedule::Schedule schedule, BatchPlan batch_plan,
          SelectionRule rule, int64_t examples);

  int64_t examples() const { return examples_; }
  const SelectionRule& rule() const { return rule_; }
  const BatchPlan& batch_plan() const { return batch_plan_; }
  // False: every epoch has all examples in batches of the configured size.
  bool differs() const { return static_cast<bool>(rule_) || batch_plan_.resizes_batches; }

  BatchContext context(int64_t epoch, int64_t position) const;

  // What an epoch needs and can be known long before.
  struct Chance {
    int64_t epoch = -1;
    std::vector<int64_t> order;  // of all examples
    std::vector<double> draws;   // for the rule
  };
  Chance chance(int64_t epoch) const;
  // What the loss of each example counts in this epoch, by the losses each had when it was last
  // seen: kUnseen or NaN for none. Empty without a rule.
  std::vector<float> weights(const Chance& chance, std::vector<float> losses) const;
  // The epoch of these weights.
  EpochPlan lay_out(Chance chance, const std::vector<float>& weights) const;
  // So many examples in batches.
  std::vector<EpochPlan::Part> parts(int64_t epoch, int64_t examples) const;

  // Epochs that have as many batches of every kind and size as each other, as far as can be said
  // before the run.
  struct Stage {
    int64_t begin = 0, end = 0;  // epochs
    int64_t examples = 0;        // of each of them
    double examples_before = 0;  // of all epochs before
  };
  std::vector<Stage> stages() const;
  // Examples seen before the share `within` of this epoch as a share of the run's, as far as can be
  // said before the run.
  double progress(int64_t epoch, double within);

 private:
  int64_t expected_examples(int64_t epoch) const;

  config::RunConfig config_;
  schedule::Schedule schedule_;
  BatchPlan batch_plan_;
  SelectionRule rule_;
  int64_t examples_;
  std::vector<Stage> stages_;  // with a rule, when first asked for
};

// The share of an epoch's examples that comes before a batch.
double share_before(const EpochPlan& plan, int64_t position);

// The batch of a run of equal epochs that stands where this share of the run's examples was seen:
// the step of which a learning-rate policy is asked.
int64_t nominal_step(double progress, int64_t total);

}  // namespace adagp::plan

#pragma once
// The batches of a run, epoch by epoch: how many, BP or GP, which examples, how many at once.

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "adagp/data/stream/batch.h"
#include "adagp/data/stream/epoch_plan.h"
#include "adagp/method/method.h"
#include "adagp/plan/selection.h"

namespace adagp::train {

class EpochPlanner {
 public:
  // With a rule, the session gets its table of losses, which the steps fill. `method` and `session`
  // outlive the planner.
  EpochPlanner(step::Session& session, const method::Method& method, schedule::Schedule schedule,
               plan::SelectionRule rule);

  // False: every epoch has the source's own batches.
  bool planned() const { return planned_; }
  data::Planner planner();
  void set_usual_batches(int64_t per_epoch) { per_epoch_ = per_epoch; }

  // Whether the epochs of a longer run are others from the beginning.
  bool follows_length() const;
  // A rule that takes all examples in every epoch of so short a run.
  bool leaves_nothing_out() const;

  int64_t batches(int64_t epoch);
  plan::BatchContext context(int64_t epoch, int64_t position) const;
  // What steps must know of this batch's examples.
  void annotate(data::Batch& batch);
  // Examples seen before this batch as a share of the run's, as far as can be said before it.
  double progress(int64_t epoch, int64_t position);
  // BP and GP batches of the whole run and their multiplications, as far as can be said before it.
  struct Counts {
    int64_t bp = 0, gp = 0;
    double macs = 0;
  };
  Counts foreseen(const method::Costs& costs) const;

  // The losses, and what was chosen for the epoch in progress; nothing without a rule.
  std::map<std::string, at::Tensor> state() const;
  // Throws DataError when they are of another number of examples.
  void load_state(const std::map<std::string, at::Tensor>& state);

 private:
  // What an epoch needs and can be known long before.
  struct Chance {
    int64_t epoch = -1;
    std::vector<int64_t> order;  // of all examples
    std::vector<double> draws;   // for the rule
  };
  Chance chance(int64_t epoch) const;
  int64_t expected_examples(int64_t epoch) const;
  // Epochs that have as many batches of every kind and size as each other, as far as can be said
  // before the run.
  struct Stage {
    int64_t begin = 0, end = 0;  // epochs
    int64_t examples = 0;        // of each of them
    double examples_before = 0;  // of all epochs before
  };
  std::vector<Stage> stages() const;
  Counts foreseen_epoch(const method::Costs& costs, const Stage& stage) const;
  struct Current {
    int64_t epoch = -1;
    std::shared_ptr<const data::EpochPlan> plan;
    at::Tensor order;    // the plan's, on the device
    at::Tensor weights;  // of the examples in that order; undefined: 1 each
  };
  const Current& current(int64_t epoch);
  void lay_out(Chance chance, const std::vector<float>& weights);
  std::vector<data::EpochPlan::Part> parts(int64_t epoch, int64_t examples) const;

  step::Session& session_;
  const method::Method& method_;
  schedule::Schedule schedule_;
  plan::SelectionRule rule_;
  bool planned_;
  int64_t examples_, per_epoch_ = 0;
  std::vector<Stage> stages_;  // with a rule, when first asked for
  std::vector<float> chosen_;  // weights of all examples in the current epoch
  Current current_;
  std::future<Chance> ahead_;  // of the next epoch
};

}  // namespace adagp::train

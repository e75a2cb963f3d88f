#pragma once
// The batches of a run, epoch by epoch: how many, BP or GP, which examples, how many at once.

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "adagp/base/plan/run_plan.h"
#include "adagp/engine/data/stream/batch.h"
#include "adagp/engine/data/stream/planner.h"
#include "adagp/engine/method/method.h"

namespace adagp::train {

class EpochPlanner {
 public:
  // With a rule, the session gets its table of losses, which the steps fill. `method` and `session`
  // outlive the planner.
  EpochPlanner(step::Session& session, const method::Method& method, schedule::Schedule schedule,
               plan::SelectionRule rule);

  // False: every epoch has the source's own batches.
  bool planned() const { return plan_.differs(); }
  data::Planner planner();
  void set_usual_batches(int64_t per_epoch) { per_epoch_ = per_epoch; }

  // Whether the epochs of a longer run are others from the beginning.
  bool follows_length() const;
  // A rule that takes all examples in every epoch of so short a run.
  bool leaves_nothing_out() const;

  int64_t batches(int64_t epoch);
  // The epoch's batches. A planned epoch is decided when it is first asked for.
  std::shared_ptr<const plan::EpochPlan> epoch_plan(int64_t epoch);
  plan::BatchContext context(int64_t epoch, int64_t position) const;
  // What steps must know of this batch's examples: those of this process.
  void annotate(data::Batch& batch);
  // Examples seen before this batch as a share of the run's, as far as can be said before it.
  double progress(int64_t epoch, int64_t position);
  // BP and GP batches of the whole run and their multiplications, as far as can be said before it.
  struct Counts {
    int64_t bp = 0, gp = 0;
    double macs = 0;
  };
  Counts foreseen(const method::Costs& costs) const;

  // Every process of a team gets the losses that the others have seen. Called by all of them: when
  // an epoch is decided, and before state().
  void join_losses();
  // The losses, and what was chosen for the epoch in progress; nothing without a rule.
  std::map<std::string, at::Tensor> state() const;
  // Throws DataError when they are of another number of examples.
  void load_state(const std::map<std::string, at::Tensor>& state);

 private:
  bool keeps_losses() const { return plan_.rule() && plan_.rule().by_loss; }
  Counts foreseen_epoch(const method::Costs& costs, const plan::RunPlan::Stage& stage) const;
  struct Current {
    int64_t epoch = -1;
    std::shared_ptr<const plan::EpochPlan> plan;
    at::Tensor order;    // the plan's, on the device
    at::Tensor weights;  // of the examples in that order; undefined: 1 each
  };
  const Current& current(int64_t epoch);
  void lay_out(plan::RunPlan::Chance chance, const std::vector<float>& weights);
  // Whether the copies of the network may get unlike shares of a batch, as far as can be said
  // before the run.
  bool may_be_unlike() const;
  void check_shares(int64_t epoch, const plan::EpochPlan& plan) const;

  step::Session& session_;
  const method::Method& method_;
  plan::RunPlan plan_;
  int64_t per_epoch_ = 0;
  at::Tensor joined_;          // the table of losses when all processes had the same
  std::vector<float> chosen_;  // weights of all examples in the current epoch
  Current current_;
  std::future<plan::RunPlan::Chance> ahead_;  // of the next epoch
};

}  // namespace adagp::train

#pragma once
// How far a run is, how long it still takes, and what it has cost.

#include <string>

#include "adagp/engine/method/costs.h"
#include "adagp/engine/metrics/timer.h"
#include "adagp/engine/train/epoch_planner.h"
#include "adagp/engine/train/totals.h"

namespace adagp::train {

class RunProgress {
 public:
  // All of them outlive it.
  RunProgress(EpochPlanner& planner, const method::Costs& costs, const RunTotals& totals,
              const RunSize& size)
      : planner_(planner), costs_(costs), totals_(totals), size_(size) {}

  // The batch this would be if every epoch had all examples: the learning rate and the end of the
  // run are functions of it.
  int64_t nominal_step() const;
  bool done() const { return nominal_step() >= size_.total; }
  double share() const;               // of the batches
  int64_t epochs_in_batches() const;  // epochs so far, each counting as per_epoch batches
  std::string of_total() const;       // " of 300", where the number of batches is known before
  // What the run has cost so far, in epochs of plain backprop; NaN where it cannot be counted.
  double cost_epochs() const;

  // Starts the clock of time_left(). `foreseen_macs`: of the whole run; 0: not known.
  void start(double foreseen_macs);
  std::string time_left() const;  // " left 3m 20s", or nothing

 private:
  double work_done() const;  // share of the multiplications, where they are known before

  EpochPlanner& planner_;
  const method::Costs& costs_;
  const RunTotals& totals_;
  const RunSize& size_;
  metrics::Stopwatch since_start_;
  double foreseen_macs_ = 0, work_at_start_ = 0;
};

}  // namespace adagp::train

#pragma once
// A whole training run on a pipeline, by a schedule of BP and GP batches.

#include "adagp/base/schedule/schedule.h"
#include "adagp/sim/pipeline/simulate.h"

namespace adagp::pipeline {

struct TrainingTime {
  double exact = 0;      // every batch backpropagated
  double scheduled = 0;  // by the schedule
  double speedup() const { return exact / scheduled; }
};

// `exact` is plain backprop, without a predictor. Every epoch starts with an empty pipeline: an
// evaluation stands between two.
TrainingTime training_time(const Placement& placement, const Costs& costs,
                           const schedule::Schedule& schedule, int64_t epochs,
                           int64_t batches_per_epoch, bool overlap = true);

// Two BP batches over a GP and a BP batch, both without end.
double steady_speedup(const Placement& placement, const Costs& costs, bool overlap = true);

}  // namespace adagp::pipeline

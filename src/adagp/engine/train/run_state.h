#pragma once
// Saves the state of a run to a checkpoint and restores it.

#include "adagp/base/schedule/policy.h"
#include "adagp/engine/method/method.h"
#include "adagp/engine/run/checkpoint.h"
#include "adagp/engine/train/epoch_planner.h"
#include "adagp/engine/train/totals.h"

namespace adagp::train {

struct RunParts {
  step::Session& session;
  method::Method& method;
  EpochPlanner& planner;
  method::Probes& probes;
  schedule::Policy& policy;
  RunTotals& totals;
};

// `seen`: the running figures of all processes.
run::Snapshot take_snapshot(const RunParts& run, const task::RunningMetrics::Values& seen);
// Throws DataError for what is missing or of another run.
void restore(const RunParts& run, const run::Snapshot& snapshot);

}  // namespace adagp::train

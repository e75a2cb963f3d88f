#pragma once
// Which runs a sweep needs: every point and its controls, cheap ones first.

#include <string>
#include <vector>

#include "adagp/lab/experiment/run_list.h"
#include "adagp/lab/experiment/runs.h"
#include "adagp/lab/experiment/sweep.h"

namespace adagp::experiment {

// A configuration of the sweep without its seed.
struct SweepTraining {
  std::string label;  // says everything in which it differs from the recipe
  config::RunConfig config;
};

struct PlannedPoint {
  SweepTraining training;
  RunForecast forecast;
  // Places in SweepPlan::controls; -1: it has none.
  int bp = -1, skip = -1;
};

struct SweepPlan {
  std::vector<PlannedPoint> points;     // as SweepOptions::points
  std::vector<SweepTraining> controls;  // points share them
  std::vector<size_t> order;            // of the points, cheap ones first
  std::vector<std::string> notes;       // why a point has no control
};

SweepPlan plan_sweep(const config::RunConfig& config, const SweepOptions& options,
                     TaskCache& tasks);

// What a job of the sweep is of.
struct SweepJob {
  bool control = false;
  size_t index = 0;  // of SweepPlan::points or ::controls
  Job job;
};
// The runs of `points` with these seeds; a control that several points share is there once.
std::vector<SweepJob> sweep_jobs(const SweepPlan& plan, const std::vector<size_t>& points,
                                 int64_t first_seed, int64_t seeds);

}  // namespace adagp::experiment

#pragma once
// Many trainings that differ in some keys, each beside its controls.

#include <string>
#include <vector>

#include "adagp/base/config/run_config.h"
#include "adagp/base/core/files.h"
#include "adagp/lab/experiment/run_list.h"
#include "adagp/papers/study/sweep_points.h"
#include "adagp/results/report/sweep.h"

namespace adagp::experiment {

struct SweepOptions {
  std::vector<study::SweepPoint> points;
  bool named = false;  // the points have names of their own, which the table shows
  int64_t seeds = 3;   // the configuration's seed and those after it
  // "bp": backprop of the point's cost; "skip": its schedule with the GP batches dropped.
  std::vector<std::string> controls{"bp", "skip"};
  std::vector<std::string> axes{"score", "seconds"};  // of the front
  bool select = false;  // after the first seed go on with the two best layers of the front alone
  core::fs::path folder = "runs/sweep";
  bool overwrite = false;
  Sharing sharing{};
};

struct SweepResult {
  report::SweepReport report;
  size_t open = 0;  // runs that the time did not suffice for, or that other processes have
};

// Keys that cannot be swept, each with the reason.
const std::vector<std::pair<std::string, std::string>>& unswept_keys();

// The configuration of each point. Throws UsageError.
std::vector<config::RunConfig> sweep_runs(const config::RunConfig& config,
                                          const SweepOptions& options);

// All its runs; with `select` those of the first seed. Throws UsageError.
std::vector<Job> sweep_list(const config::RunConfig& config, const SweepOptions& options,
                            TaskCache& tasks);

// Runs what is not finished yet, one seed of all points before the next and cheap points first, and
// keeps sweep.md, .json, .csv and .svg in the folder up to date. The same call on an interrupted
// folder goes on. A run that diverges is a result.
SweepResult sweep(const config::RunConfig& config, const SweepOptions& options);

}  // namespace adagp::experiment

#pragma once
// Methods x seeds: every combination is a run of its own, then they stand in one table.

#include <string>
#include <vector>

#include "adagp/base/config/run_config.h"
#include "adagp/base/core/files.h"
#include "adagp/lab/experiment/shared_list.h"
#include "adagp/results/report/compare.h"

namespace adagp::experiment {

struct Job;  // run_list.h, which is not public

struct CompareOptions {
  std::vector<std::string> methods{"bp", "adagp", "skip", "zero", "equal-time"};
  int64_t seeds = 3;  // the configuration's seed and those after it
  core::fs::path folder = "runs/compare";
  bool overwrite = false;
  Sharing sharing{};
};

struct CompareResult {
  report::Comparison table;           // of the runs that finished
  std::vector<std::string> diverged;  // what the others said
  size_t open = 0;                    // runs that other processes work on, or have to
};

// All runs. Throws UsageError when the methods do not fit together.
std::vector<Job> compare_list(const config::RunConfig& config, const CompareOptions& options);

// Runs what is not finished yet, in <folder>/<method>-seed<n>, and writes compare.md, compare.json
// and compare.csv there. The same call on an interrupted folder goes on. equal-time takes its
// budget from bp's and adagp's seconds of the same seed, and is run again when these were. Throws
// UsageError before any run starts when the methods do not fit together. A run that diverges is
// reported and left out; the others go on.
CompareResult compare_methods(const config::RunConfig& config, const CompareOptions& options);

}  // namespace adagp::experiment

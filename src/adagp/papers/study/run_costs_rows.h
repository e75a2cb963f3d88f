#pragma once
// Training runs on accelerators as rows for people: seeds of one run together.

#include <string>
#include <vector>

#include "adagp/papers/study/run_costs.h"

namespace adagp::study {

// What may tell one row from another; those with one value stand in the heading.
struct RunPlace {
  const char* title;
  std::string (*of)(const TrainingRun& run, const RunCost& cost);
};
const std::vector<RunPlace>& run_places();
// Those that have several values among the rows.
std::vector<RunPlace> varying_places(const std::vector<TrainingRun>& runs,
                                     const std::vector<RunCost>& costs);

// Of all runs, "score" if they have several.
std::string metric_of(const std::vector<TrainingRun>& runs);
int64_t batches_of(const RunCost& cost);

// Means over runs that differ in their seed alone, on one machine with one design.
struct SeedRow {
  const TrainingRun* run = nullptr;  // of the first seed
  const RunCost* cost = nullptr;
  std::string name;  // what the names of the runs have in common
  std::vector<int64_t> seeds;
  std::optional<double> score;
  double score_sd = 0;  // NaN for one seed
  double batches = 0, cycles = 0, seconds = 0, dram_bytes = 0, joules = 0;
};
std::vector<SeedRow> over_seeds(const std::vector<TrainingRun>& runs,
                                const std::vector<RunCost>& costs);

}  // namespace adagp::study

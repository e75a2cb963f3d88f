#pragma once
// adagp simulate --run and --method: whole training runs, whatever their method. No torch here.

#include <CLI/CLI.hpp>

#include "adagp/papers/study/run_costs.h"

namespace adagp::apps {

struct SimulateRunsArgs {
  std::vector<std::string> folders;
  study::RunPlanOptions plan;

  bool given() const { return !folders.empty() || !plan.methods.empty(); }
};

void add_runs(CLI::App& command, SimulateRunsArgs& args);
// Throws UsageError for flags of `command` that these do not go with.
void refuse_flags(const CLI::App& command, const SimulateRunsArgs& args);
int simulate_training_runs(const study::Options& options, const SimulateRunsArgs& args, bool json,
                           bool csv, const std::string& plot);

// The network of this table at another side. Throws UsageError where it cannot be built.
layers::SideTable side_table(const layers::Table& full, int64_t side);

}  // namespace adagp::apps

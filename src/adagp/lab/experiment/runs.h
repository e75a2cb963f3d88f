#pragma once
// Many runs of one comparison, each in a folder of its own.

#include <string>

#include "adagp/base/config/run_config.h"
#include "adagp/engine/train/build.h"
#include "adagp/results/report/summary.h"

namespace adagp::experiment {

// Whether a run is there and will not be made again.
bool is_finished(const core::fs::path& folder, bool overwrite);

// Trains, or takes the summary of a run that is finished, and says so. `what`: "run 3 of 12: bp,
// seed 1".
report::Summary run_or_reuse(const config::RunConfig& config, const task::TaskPtr& task,
                             const core::fs::path& folder, bool overwrite, const std::string& what);

// What is known of a run before it starts.
struct RunForecast {
  double cost_epochs = 0;  // in epochs of plain backprop; NaN: it cannot be counted
  int64_t batches_per_epoch = 0;
  double epoch_macs = 0;  // multiplications of an epoch of plain backprop; NaN as above
};
// Makes the run's trainer on the CPU and drops it. Throws UsageError for what the method cannot do
// with this network and data.
RunForecast forecast_run(config::RunConfig config, const task::TaskPtr& task);

// Checks a run before the first run starts. Returns the cost in epochs of plain backprop; 0: the
// run is finished; NaN: it cannot be counted. Throws UsageError for what the method cannot do with
// this network, data or folder, DataError for what cannot be read.
double check_run(config::RunConfig config, const task::TaskPtr& task, const core::fs::path& folder,
                 bool overwrite);

}  // namespace adagp::experiment

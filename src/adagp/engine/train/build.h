#pragma once
// From a configuration to a run.

#include <memory>

#include "adagp/base/config/run_config.h"
#include "adagp/engine/run/run_folder.h"
#include "adagp/engine/step/team.h"
#include "adagp/engine/task/network.h"
#include "adagp/engine/task/task.h"

namespace adagp::train {

// Every name and text a run will look up. Before anything slow: a misspelt one should not cost the
// loading of the data or the runs before it. Throws UsageError.
void check_names(const config::RunConfig& config);

// Sets threads, opens the data, builds the network and trains in `folder`. A finished folder gives
// its summary at once.
report::Summary train(config::RunConfig config, const core::fs::path& folder,
                      bool overwrite = false);
// The same with the data already open.
report::Summary train(config::RunConfig config, const task::TaskPtr& task,
                      const core::fs::path& folder, bool overwrite = false);
// The same as one of several processes, each of which calls it; only the leader has the folder. The
// others' summary lacks what only the leader measures.
report::Summary train_together(config::RunConfig config, const core::fs::path& folder,
                               bool overwrite, const step::TeamMaker& make_team);

// The same for a network of your own, which build_net does not know. Measurements before the run
// use it too and leave no trace in its parameters and buffers.
report::Summary train(config::RunConfig config, const task::TaskPtr& task,
                      std::shared_ptr<models::Net> net, const core::fs::path& folder,
                      bool overwrite = false);

void set_threads(const config::RunConfig& config);

}  // namespace adagp::train

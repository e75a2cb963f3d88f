#pragma once
// From a configuration to a run.

#include <memory>

#include "adagp/models/model.h"
#include "adagp/train/config.h"
#include "adagp/train/run_folder.h"
#include "adagp/train/task.h"
#include "adagp/train/team.h"

namespace adagp::train {

// Every name and text a run will look up. Before anything slow: a misspelt one should not cost the
// loading of the data or the runs before it. Throws UsageError.
void check_names(const Config& config);

// The network a resolved configuration names: initialised from its seed, or from its weights file,
// but for a head with another number of classes than the file's, which stays initialised.
std::shared_ptr<models::Net> build_net(const Config& config, const Task& task);

using TaskPtr = std::shared_ptr<const Task>;
// Sets threads, opens the data, builds the network and trains in `folder`. A finished folder gives
// its summary at once.
Summary train(Config config, const core::fs::path& folder, bool overwrite = false);
// The same with the data already open.
Summary train(Config config, const TaskPtr& task, const core::fs::path& folder,
              bool overwrite = false);
// The same as one of several processes, each of which calls it; only the leader has the folder. The
// others' summary lacks what only the leader measures.
Summary train_together(Config config, const core::fs::path& folder, bool overwrite,
                       const TeamMaker& make_team);

// The same for a network of your own, which build_net does not know. Measurements before the run
// use it too and leave no trace in its parameters and buffers.
Summary train(Config config, const TaskPtr& task, std::shared_ptr<models::Net> net,
              const core::fs::path& folder, bool overwrite = false);

void set_threads(const Config& config);

}  // namespace adagp::train

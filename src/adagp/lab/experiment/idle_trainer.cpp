#include "adagp/lab/experiment/idle_trainer.h"

#include "adagp/base/core/log.h"
#include "adagp/engine/method/table.h"
#include "adagp/engine/run/precision.h"
#include "adagp/engine/train/build.h"

namespace adagp::experiment {

std::unique_ptr<train::Trainer> idle_trainer(config::RunConfig& config) {
  train::check_names(config);
  train::set_threads(config);
  config.augment.workers = 0;  // nobody asks for batches
  core::log_info("dry run: opening data set " + config.data.name);
  const task::TaskPtr task = task::open_task(config);
  task->resolve(config);
  run::resolve_precision(config);
  method::fix_length(config, task, task::throw_away_nets(config, task));
  core::log_info("dry run: making network " + config.model.name);
  return std::make_unique<train::Trainer>(config, task, task::build_net(config, *task));
}

}  // namespace adagp::experiment

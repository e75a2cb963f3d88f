#include "adagp/lab/experiment/runs.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/train/trainer.h"
#include "adagp/gpu/device/choose_device.h"

namespace adagp::experiment {

bool is_finished(const core::fs::path& folder, bool overwrite) {
  return !overwrite && core::fs::exists(folder / "summary.json");
}

report::Summary run_or_reuse(const config::RunConfig& config, const task::TaskPtr& task,
                             const core::fs::path& folder, bool overwrite,
                             const std::string& what) {
  const bool finished = is_finished(folder, overwrite);
  core::log_info(what + (finished ? ": already finished" : ""));
  const report::Summary summary = train::train(config, task, folder, overwrite);
  core::log_info(one_line(summary));
  return summary;
}

RunForecast forecast_run(config::RunConfig config, const task::TaskPtr& task) {
  train::check_names(config);
  task->resolve(config);
  device::choose_device(config.device);
  config.device = "cpu";
  config.precision = "fp32";
  const train::Trainer trainer(config, task, task::build_net(config, *task));
  const double epoch =
      trainer.costs().backprop() * static_cast<double>(trainer.batches_per_epoch() * config.batch);
  return {trainer.forecast().counts().macs / epoch, trainer.batches_per_epoch(), epoch};
}

double check_run(config::RunConfig config, const task::TaskPtr& task, const core::fs::path& folder,
                 bool overwrite) {
  if (core::pending_signal() != 0) return 0;  // the first run will see it
  train::check_names(config);
  const config::RunConfig asked = config;
  task->resolve(config);
  if (!overwrite && core::fs::exists(folder / "config.toml")) {
    const run::RunFolder there(folder, config, false);
    if (there.finished()) return 0;
    if (there.shorter_epochs()) {
      throw UsageError(core::cat(folder.string(), ": holds a run of ", *there.shorter_epochs(),
                                 " epochs, not of ", config.epochs,
                                 "; choose another folder, or start anew with --overwrite"));
    }
  }
  return forecast_run(asked, task).cost_epochs;
}

}  // namespace adagp::experiment

#include "adagp/train/runs.h"

#include "adagp/core/error.h"
#include "adagp/core/interrupt.h"
#include "adagp/core/log.h"
#include "adagp/core/text.h"
#include "adagp/train/trainer.h"

namespace adagp::train {

bool is_finished(const core::fs::path& folder, bool overwrite) {
  return !overwrite && core::fs::exists(folder / "summary.json");
}

Summary run_or_reuse(const Config& config, const TaskPtr& task, const core::fs::path& folder,
                     bool overwrite, const std::string& what) {
  const bool finished = is_finished(folder, overwrite);
  core::log_info(what + (finished ? ": already finished" : ""));
  const Summary summary = train(config, task, folder, overwrite);
  core::log_info(one_line(summary));
  return summary;
}

double check_run(Config config, const TaskPtr& task, const core::fs::path& folder, bool overwrite) {
  if (core::pending_signal() != 0) return 0;  // the first run will see it
  check_names(config);
  task->resolve(config);
  if (!overwrite && core::fs::exists(folder / "config.toml")) {
    const RunFolder there(folder, config, false);
    if (there.finished()) return 0;
    if (there.shorter_epochs()) {
      throw UsageError(core::cat(folder.string(), ": holds a run of ", *there.shorter_epochs(),
                                 " epochs, not of ", config.epochs,
                                 "; choose another folder, or start anew with --overwrite"));
    }
  }
  choose_device(config.device);
  config.device = "cpu";
  config.precision = "fp32";
  const Trainer trainer(config, task, build_net(config, *task));
  const double epoch =
      trainer.costs().backprop() * static_cast<double>(trainer.batches_per_epoch() * config.batch);
  return trainer.foreseen().macs / epoch;
}

}  // namespace adagp::train

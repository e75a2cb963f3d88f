#include "adagp/train/runs.h"

#include "adagp/core/interrupt.h"
#include "adagp/core/log.h"
#include "adagp/train/trainer.h"

namespace adagp::train {

Summary run_or_reuse(const Config& config, const TaskPtr& task, const core::fs::path& folder,
                     bool overwrite, const std::string& what) {
  const bool finished = !overwrite && core::fs::exists(folder / "summary.json");
  core::log_info(what + (finished ? ": already finished" : ""));
  const Summary summary = train(config, task, folder, overwrite);
  core::log_info(one_line(summary));
  return summary;
}

void check_run(Config config, const TaskPtr& task, const core::fs::path& folder, bool overwrite) {
  if (core::pending_signal() != 0) return;  // the first run will see it
  check_names(config);
  choose_device(config.device);
  task->resolve(config);
  if (!overwrite && core::fs::exists(folder / "config.toml")) {
    const RunFolder there(folder, config, false);
    if (there.finished()) return;
  }
  config.device = "cpu";
  config.precision = "fp32";
  const Trainer trainer(config, task, build_net(config, *task));
}

}  // namespace adagp::train

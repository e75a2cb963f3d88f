#include "adagp/train/runs.h"

#include "adagp/core/log.h"
#include "adagp/train/trainer.h"

namespace adagp::train {
namespace {

bool is_finished(const core::fs::path& folder, bool overwrite) {
  return !overwrite && core::fs::exists(folder / "summary.json");
}

}  // namespace

Summary run_or_reuse(const Config& config, const TaskPtr& task, const core::fs::path& folder,
                     bool overwrite, const std::string& what) {
  const bool finished = is_finished(folder, overwrite);
  core::log_info(what + (finished ? ": already finished" : ""));
  const Summary summary = train(config, task, folder, overwrite);
  core::log_info(one_line(summary));
  return summary;
}

void check_run(Config config, const TaskPtr& task, const core::fs::path& folder, bool overwrite) {
  if (is_finished(folder, overwrite)) return;
  choose_device(config.device);
  config.device = "cpu";
  config.precision = "fp32";
  check_names(config);
  task->resolve(config);
  const Trainer trainer(config, task, build_net(config, *task));
}

}  // namespace adagp::train

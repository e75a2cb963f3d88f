#include "adagp/train/runs.h"

#include "adagp/core/log.h"

namespace adagp::train {

Summary run_or_reuse(const Config& config, const TaskPtr& task, const core::fs::path& folder,
                     bool overwrite, const std::string& what) {
  const bool finished = !overwrite && core::fs::exists(folder / "summary.json");
  core::log_info(what + (finished ? ": already finished" : ""));
  const Summary summary = train(config, task, folder, overwrite);
  core::log_info(one_line(summary));
  return summary;
}

}  // namespace adagp::train

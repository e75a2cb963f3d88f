#pragma once
// adagp train --parallel: one of several processes, or the one that starts them.

#include <string>

#include "adagp/base/config/run_config.h"

namespace adagp::apps {

struct ParallelRun {
  std::string spec, folder;
  bool overwrite = false, json = false;
};
int train_parallel(config::RunConfig config, const ParallelRun& run);
std::string parallel_help();

}  // namespace adagp::apps

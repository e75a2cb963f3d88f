#pragma once
// Data of the runs of a list: opened once for runs that follow each other with the same data.

#include <string>

#include "adagp/base/config/run_config.h"
#include "adagp/engine/task/task.h"

namespace adagp::experiment {

class TaskCache {
 public:
  // The data of this run; keeps those of the latest run alone, because they may be large.
  task::TaskPtr open(const config::RunConfig& config);

 private:
  std::string key_;
  task::TaskPtr task_;
};

}  // namespace adagp::experiment

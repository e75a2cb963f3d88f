#pragma once
// What a list of runs would do and cost: nothing is trained, written or locked.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/lab/experiment/run_list.h"

namespace adagp::experiment {

struct PlannedRun {
  std::string what;
  double cost = 0;  // epochs of plain backprop; NaN: it cannot be counted
  bool finished = false;
  std::string as_long_as;  // the folder of the run whose seconds it takes
};

struct ListPlan {
  std::vector<PlannedRun> runs;
  double cost = 0;  // of what is not finished
  // An epoch of plain backprop, from a few measured steps of the first run that is to be done; 0:
  // there is none, or they are of several networks.
  double epoch_seconds = 0;
  int64_t batch = 0;
  std::string device;

  size_t open() const;
  std::string text() const;
  nlohmann::json to_json() const;
};

// Throws UsageError and DataError.
ListPlan plan_list(const std::vector<Job>& jobs, TaskCache& tasks, const RunListOptions& options);

}  // namespace adagp::experiment

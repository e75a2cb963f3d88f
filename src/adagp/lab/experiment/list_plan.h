#pragma once
// What a list of runs would do and cost: nothing is trained, written or locked.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/lab/experiment/run_list.h"

namespace adagp::experiment {

enum class RunState { kOpen, kFinished, kDiverged };

struct PlannedRun {
  std::string what;
  RunState state = RunState::kOpen;
  double cost = 0;  // epochs of plain backprop with its own network and batch; NaN: not counted
  std::string as_long_as;  // the run whose seconds it takes
};

// Seconds of what is open, from a few measured steps of the first of them.
struct PlannedTime {
  double seconds = 0;
  double epoch_seconds = 0;  // of plain backprop with this batch size
  int64_t batch = 0;
  std::string device;
};

struct ListPlan {
  std::vector<PlannedRun> runs;
  // None where nothing is open, or where one network says nothing of the others.
  std::optional<PlannedTime> time;

  size_t open() const;
  double cost() const;  // of what is open and can be counted
  std::string text() const;
  nlohmann::json to_json() const;
};

// Throws UsageError and DataError.
ListPlan plan_list(const std::vector<Job>& jobs, TaskCache& tasks, const RunListOptions& options);

}  // namespace adagp::experiment

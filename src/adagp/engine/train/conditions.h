#pragma once
// What a run's score is of: which data, how much of them, and other settings that change its
// meaning.

#include "adagp/base/config/run_config.h"
#include "adagp/engine/task/task.h"
#include "adagp/results/report/conditions.h"

namespace adagp::train {

// Of a resolved configuration.
report::Conditions conditions_of(const config::RunConfig& config, const task::Task& task);

}  // namespace adagp::train

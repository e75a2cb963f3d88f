#pragma once
// What a run's score is of: which data, how much of them, and other settings that change its
// meaning.

#include "adagp/report/conditions.h"
#include "adagp/train/config.h"
#include "adagp/train/task.h"

namespace adagp::train {

// Of a resolved configuration.
report::Conditions conditions_of(const Config& config, const Task& task);

}  // namespace adagp::train

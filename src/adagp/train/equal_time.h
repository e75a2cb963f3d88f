#pragma once
// The control that spends adagp's seconds on plain backprop.

#include "adagp/train/config.h"
#include "adagp/train/step_times.h"
#include "adagp/train/summary.h"
#include "adagp/train/task.h"

namespace adagp::train {

// Backprop batches that fit into `seconds`, at least 1 and at most `most`.
int64_t budget_batches(double seconds, double seconds_per_batch, int64_t most);

// For method equal-time without a budget: sets it from the reference run's seconds and the measured
// time of a plain backprop step. Throws UsageError without a reference. Other methods: nothing.
void fix_budget(Config& config, const std::shared_ptr<const Task>& task, const NetMaker& make_net);

}  // namespace adagp::train

#pragma once
// The control that spends adagp's seconds on plain backprop.

#include "adagp/report/summary.h"
#include "adagp/task/network.h"

namespace adagp::method {

// Backprop batches that fit into `seconds`, at least 1 and at most `most`.
int64_t budget_batches(double seconds, double seconds_per_batch, int64_t most);

// For method equal-time without a budget: sets it from the reference run's seconds and the measured
// time of a plain backprop step. Throws UsageError without a reference. Other methods: nothing.
void fix_budget(config::RunConfig& config, const task::TaskPtr& task,
                const task::NetMaker& make_net);

}  // namespace adagp::method

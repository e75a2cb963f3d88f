#pragma once
// Blocks at the network's beginning that stop learning one after the other. No torch here.

#include "adagp/base/config/run_config.h"
#include "adagp/base/plan/batch_plan.h"

namespace adagp::plan {

// By freeze.at and freeze.blocks. Throws UsageError naming the key for shares that cannot be;
// whether the network has so many blocks is for the caller to check.
BatchPlan freeze_plan(const config::RunConfig& config);

}  // namespace adagp::plan

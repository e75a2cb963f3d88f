#pragma once
// Which precision a run computes in.

#include "adagp/base/config/run_config.h"

namespace adagp::run {

// bf16 becomes fp32 where the device is a CPU; with `say`, one warning of the process tells it.
// Throws UsageError for a device that is not there.
void resolve_precision(config::RunConfig& config, bool say = true);

}  // namespace adagp::run

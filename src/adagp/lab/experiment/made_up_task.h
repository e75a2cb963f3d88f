#pragma once
// A problem of a network's kind without files, for measurements of time.

#include <string>

#include "adagp/base/config/run_config.h"
#include "adagp/engine/task/task.h"

namespace adagp::experiment {

// Random images of the size `input`, or generated sentences; as bench() describes. Sets the name of
// the data in `config`. Throws UsageError for an input that the network does not take.
task::TaskPtr made_up_task(config::RunConfig& config, const std::string& input);

}  // namespace adagp::experiment

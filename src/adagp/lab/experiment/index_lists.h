#pragma once
// Which examples a run's batches would have: for other programs that must choose the same.

#include <functional>
#include <string>

#include "adagp/base/config/run_config.h"

namespace adagp::experiment {

// One JSON object a line for each batch of the run: {"epoch", "batch", "side" (0: as the data is),
// "rate" (factor of the learning rate), "progress", "examples": [numbers]}. Rules that go by losses
// get those of `losses_file` in every epoch: a number a line, one for each training example; "": no
// example was seen yet. Throws UsageError for losses that no rule reads, DataError for the file.
void print_index_lists(config::RunConfig config, const std::string& losses_file,
                       const std::function<void(const std::string&)>& print);

}  // namespace adagp::experiment

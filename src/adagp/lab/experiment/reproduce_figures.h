#pragma once
// Pictures of one run: the predictor's error by layer and epoch, and its losses.

#include <string>
#include <vector>

#include "adagp/base/core/files.h"

namespace adagp::experiment {

// Draws the metrics of the run in `run` as `folder`/`prefix`-*.svg, and returns the names. None for
// a run that is not finished.
std::vector<std::string> write_run_figures(const core::fs::path& run, const core::fs::path& folder,
                                           const std::string& prefix, const std::string& title);

}  // namespace adagp::experiment

#pragma once
// Pictures of one run: the predictor's error by layer and epoch, and its losses.

#include <string>
#include <vector>

#include "adagp/base/core/files.h"

namespace adagp::experiment {

// How the pictures' names begin, and their titles.
struct RunPictures {
  std::string probes, probes_title;
  std::string losses, losses_title;
};

// Draws the metrics of the run in `run` as `folder`/NAME.svg, and returns the names. None for a run
// that is not finished.
std::vector<std::string> write_run_figures(const core::fs::path& run, const core::fs::path& folder,
                                           const RunPictures& pictures);

}  // namespace adagp::experiment

#pragma once
// How much faster the simulated accelerator trains with a run's schedule.

#include <cstdint>
#include <optional>
#include <string>

#include "adagp/base/config/predictor_options.h"
#include "adagp/base/core/files.h"

namespace adagp::study {

struct SimulatedRun {
  core::fs::path layers;  // layers.csv of a run folder
  std::string schedule;
  int64_t epochs = 1, batch = 1, examples = 1;  // examples of an epoch
  predictor::Config predictor;
};

// Cycles of the baseline over those of design MAX (array 12x15, weights stationary). Nothing for a
// predictor that the simulator does not know.
std::optional<double> simulated_speedup(const SimulatedRun& run);

}  // namespace adagp::study

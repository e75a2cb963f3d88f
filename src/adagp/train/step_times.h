#pragma once
// Median seconds of each kind of step, measured on throw-away copies: for bench, --dry-run and the
// budget of equal-time.

#include <string>

#include "adagp/data/loader.h"
#include "adagp/train/config.h"

namespace adagp::train {

struct StepTimes {
  double forward = 0;     // training-mode forward under NoGradGuard
  double bp = 0;          // plain backprop step
  double bp_observe = 0;  // backprop step with predictor training
  double gp = 0;          // GP step
};

// `config` is resolved. `repeats` timed steps of each kind after a warm-up, interleaved so that a
// slow moment of the machine hits all of them. `only` ("forward", "gp", "bp", "bp-observe") leaves
// the other kinds out, for profiles and peak memory.
StepTimes measure_steps(const Config& config, const data::Batch& batch, int repeats,
                        const std::string& only = "");
// Only the plain backprop step.
double measure_bp(const Config& config, const data::Batch& batch, int repeats);

}  // namespace adagp::train

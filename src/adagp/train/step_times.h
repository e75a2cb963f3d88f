#pragma once
// Seconds of each kind of step, measured on throw-away copies: for bench, --dry-run and the budget
// of equal-time.

#include <string>

#include "adagp/train/config.h"
#include "adagp/train/task.h"

namespace adagp::train {

struct Timing {
  double median = 0, p10 = 0, p90 = 0;
};

struct StepTimes {
  Timing forward;   // training-mode forward under NoGradGuard
  Timing bp;        // plain backprop step
  Timing bp_train;  // backprop step with predictor training
  Timing gp;        // GP step
  Timing eval;      // forward of an evaluation
  Timing update;    // the optimizer alone, on true gradients
  Timing predict;   // the predictor with the update it carries
  Timing data;      // making a batch from images on the GPU; 0 on a CPU

  struct Peak {
    double forward = 0, bp = 0, gp = 0;  // bytes of GPU memory, weights and states included
  } peak;
  bool graphs = false;  // all steps were replayed
};

// `config` is resolved. `repeats` timed steps of each kind after a warm-up, interleaved so that a
// slow moment of the machine hits all of them. `only` ("forward", "gp", "bp", "bp-train") leaves
// the other kinds out, for profiles and peak memory.
StepTimes measure_steps(const Config& config, const std::shared_ptr<const Task>& task,
                        const data::Batch& batch, int repeats, const std::string& only = "");
// Lets a GPU choose its algorithms before the clock of a run starts: a few steps of a throw-away
// copy, once for each shape of a process. Random numbers are disturbed, so call it before they are
// seeded. Nothing on a CPU, or where nothing is chosen (--deterministic).
void warm_up(const Config& config, const std::shared_ptr<const Task>& task);
// Only the plain backprop step.
double measure_bp(const Config& config, const std::shared_ptr<const Task>& task,
                  const data::Batch& batch, int repeats);

}  // namespace adagp::train

#pragma once
// Seconds of each kind of step, for bench and --dry-run.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adagp/engine/step/step_timer.h"
#include "adagp/lab/experiment/kind_timer.h"

namespace adagp::experiment {

struct StepTimes {
  step::Timing forward;   // training-mode forward under NoGradGuard
  step::Timing bp;        // plain backprop step
  step::Timing bp_train;  // backprop step with predictor training
  step::Timing gp;        // GP step
  step::Timing eval;      // forward of an evaluation
  step::Timing method;    // a full batch of the configured method, if it is not bp or adagp
  step::Timing update;    // the optimizer alone, on true gradients
  step::Timing predict;   // the predictor with the update it carries
  step::Timing data;      // making a batch from images on the GPU; 0 on a CPU

  struct Peak {
    double forward = 0, bp = 0, gp = 0;  // bytes, weights and states included; 0: not measured
  } peak;
  bool graphs = false;  // all steps were replayed
};

// One step by kind of work; what is not in an operation is kOther.
struct StepKinds {
  double whole = 0;  // seconds, the sum of all kinds
  KindSeconds kinds{};
};

// `config` is resolved. `only` (of "forward", "gp", "bp", "bp-train", "method") leaves the other
// kinds out.
StepTimes measure_steps(const config::RunConfig& config,
                        const std::shared_ptr<const task::Task>& task, const data::Batch& batch,
                        int repeats, const std::vector<std::string>& only = {});

// Whether the configured method's full batch is something else than the steps that are always
// timed, or those of other methods.
bool times_method(const config::RunConfig& config);

// By the names that `only` takes: of `repeats` steps each the one whose time is the median. On a
// GPU the steps are recorded; Error when one cannot be.
std::map<std::string, StepKinds> measure_kinds(const config::RunConfig& config,
                                               const std::shared_ptr<const task::Task>& task,
                                               const data::Batch& batch, int repeats);

}  // namespace adagp::experiment

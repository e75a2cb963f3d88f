#pragma once
// Seconds of each kind of step, measured on throw-away copies: for bench, --dry-run and the budget
// of equal-time.

#include <functional>
#include <memory>
#include <string>
#include <vector>

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
// slow moment of the machine hits all of them; long ones show progress on stderr. `only` (of
// "forward", "gp", "bp", "bp-train") leaves the other kinds out.
StepTimes measure_steps(const Config& config, const std::shared_ptr<const Task>& task,
                        const data::Batch& batch, int repeats,
                        const std::vector<std::string>& only = {});

// Gives a network for steps that are not part of a run; they change its weights.
using NetMaker = std::function<std::shared_ptr<models::Net>()>;
// The network of a resolved configuration, without its weights file.
NetMaker throw_away_nets(const Config& config, const std::shared_ptr<const Task>& task);

// Lets a GPU choose its algorithms before the clock of a run starts: a few steps, once in a process
// for each shape of a network that `config` names. `known`: it does. Random numbers are disturbed,
// so call it before they are seeded. Nothing on a CPU, or where nothing is chosen
// (--deterministic).
void warm_up(const Config& config, const std::shared_ptr<const Task>& task,
             const NetMaker& make_net, bool known = true);
// Only the plain backprop step.
double measure_bp(const Config& config, const std::shared_ptr<const Task>& task,
                  const NetMaker& make_net, const data::Batch& batch, int repeats);

}  // namespace adagp::train

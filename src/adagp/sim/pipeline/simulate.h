#pragma once
// How long a sequence of batches takes, and how busy the devices are. Memory does not grow with the
// sequence: once the devices repeat themselves, the rest is multiplied.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "adagp/sim/pipeline/cluster.h"
#include "adagp/sim/pipeline/schedules.h"

namespace adagp::pipeline {

// `cycle` over and over, `batches` in all.
struct Sequence {
  std::vector<Phase> cycle{Phase::kBackprop};
  int64_t batches = 1;
};
// "bp", "gp", "gp-bp", "gp*4-bp", "low-bp": one cycle. Throws UsageError naming the part.
Sequence parse_phases(const std::string& text);
std::string phases_text(const std::vector<Phase>& cycle);

struct Result {
  double makespan = 0;
  std::vector<double> busy;           // time, per device
  std::vector<double> utilisation;    // busy / makespan
  std::vector<double> exchange_wait;  // in exchanges with copies and replicas, per device
  std::vector<int> peak_stash;        // micro-batches' activations (of one stage each), per device
  int64_t synchronisations = 0;       // all-reduces between replicas
  int64_t messages = 0;               // between stages
  int64_t simulated_batches = 0;      // the others follow from the period
};

struct SimulateOptions {
  bool overlap = true;                         // see Request
  std::function<void(const Event&)> on_event;  // when given, every batch is simulated
};

// The same work for every stage: `forward` and `backward` are a device's, which its chunks share.
Costs uniform_costs(const Placement& placement, const StageCost& device);

// Of plain backprop, which has no predictor to train.
Costs plain_costs(Costs costs);

Result simulate(const Placement& placement, const Costs& costs, const Sequence& sequence,
                const SimulateOptions& options = {});

// Time of one cycle when it follows endlessly many of its kind.
double steady_time(const Placement& placement, const Costs& costs, const std::vector<Phase>& cycle,
                   bool overlap = true);

}  // namespace adagp::pipeline

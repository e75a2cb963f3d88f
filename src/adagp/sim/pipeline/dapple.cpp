// DAPPLE, 1F1B: after a warm-up every forward pass is followed by a backward pass, so that a device
// keeps no more activations than there are stages after it.

#include <algorithm>

#include "adagp/sim/pipeline/orders.h"

namespace adagp::pipeline {

Schedule dapple() {
  Schedule schedule;
  schedule.name = "dapple";
  schedule.about = "1F1B: one forward, one backward, activations of at most `stages` micro-batches";
  schedule.order = [](const Placement& placement, int device, Phase phase) {
    if (phase == Phase::kPredict) return forwards(placement, device);
    const int warm_up = std::min(placement.micro_batches, placement.devices - device);
    OpList ops;
    for (int m = 0; m < warm_up; ++m) ops.push_back(compute(Kind::kForward, m, device));
    for (int m = 0; m < placement.micro_batches; ++m) {
      ops.push_back(compute(Kind::kBackward, m, device));
      if (m + warm_up < placement.micro_batches) {
        ops.push_back(compute(Kind::kForward, m + warm_up, device));
      }
    }
    return ops;
  };
  schedule.stash_bound = [](const Placement& placement, int device) {
    return std::min(placement.micro_batches, placement.devices - device);
  };
  return schedule;
}

}  // namespace adagp::pipeline

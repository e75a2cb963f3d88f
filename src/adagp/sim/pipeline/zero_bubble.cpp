// Zero bubble, the H1 order: as 1F1B, but a backward pass is two ops. The stage before waits for
// the first (gradient of the input) only; the second (gradient of the weights) fills what would be
// bubbles. Stage s does the second `s` micro-batches late, so that every device keeps at most
// `stages` micro-batches' activations, as 1F1B's first.

#include <algorithm>

#include "adagp/sim/pipeline/orders.h"

namespace adagp::pipeline {

Schedule zero_bubble() {
  Schedule schedule;
  schedule.name = "zero-bubble";
  schedule.about = "1F1B with the backward pass split in two, weight gradients fill the bubbles";
  schedule.order = [](const Placement& placement, int device, Phase phase) {
    if (phase == Phase::kPredict) return forwards(placement, device);
    const int count = placement.micro_batches;
    const int warm_up = std::min(count, placement.devices - device);
    OpList ops;
    for (int m = 0; m < warm_up; ++m) ops.push_back(compute(Kind::kForward, m, device));
    for (int m = 0; m < count; ++m) {
      ops.push_back(compute(Kind::kInputGradient, m, device));
      if (m >= device) ops.push_back(compute(Kind::kWeightGradient, m - device, device));
      if (m + warm_up < count) ops.push_back(compute(Kind::kForward, m + warm_up, device));
    }
    for (int m = std::max(0, count - device); m < count; ++m) {
      ops.push_back(compute(Kind::kWeightGradient, m, device));
    }
    return ops;
  };
  schedule.stash_bound = [](const Placement& placement, int) {
    return std::min(placement.micro_batches, placement.devices);
  };
  return schedule;
}

}  // namespace adagp::pipeline

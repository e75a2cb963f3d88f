// Decoupled modules (FDG): 1F1B with so many forward passes ahead that no device ever waits. What
// the others call a micro-batch is a whole batch here: every stage takes an optimizer step after
// each of its backward passes, so that a stage's gradients are some batches old.

#include <algorithm>

#include "adagp/sim/pipeline/orders.h"

namespace adagp::pipeline {

Schedule decoupled() {
  // Ticks from a batch's forward pass to its backward pass: down to the last stage and back.
  const auto delay = [](const Placement& placement, int device) {
    return std::min(placement.micro_batches, 2 * (placement.devices - 1 - device));
  };
  Schedule schedule;
  schedule.name = "decoupled";
  schedule.about = "modules with older gradients (method modules): each micro-batch is a batch";
  schedule.order = [delay](const Placement& placement, int device, Phase phase) {
    if (phase == Phase::kPredict) return forwards(placement, device);
    const int ahead = delay(placement, device);
    OpList ops;
    for (int tick = 0; tick < placement.micro_batches + ahead; ++tick) {
      if (tick < placement.micro_batches) ops.push_back(compute(Kind::kForward, tick, device));
      if (tick >= ahead) ops.push_back(compute(Kind::kBackward, tick - ahead, device));
    }
    return ops;
  };
  schedule.stash_bound = [delay](const Placement& placement, int device) {
    return std::min(placement.micro_batches, delay(placement, device) + 1);
  };
  return schedule;
}

}  // namespace adagp::pipeline

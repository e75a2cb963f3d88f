// Chimera: two replicas of the network, one from the first device to the last and one back. Half of
// every `devices` micro-batches goes down, half goes up. With all passes one slot long, those below
// are the slots of both directions; stages alternate between odd and even slots, so no two ops of a
// device meet, and units of `devices` micro-batches follow each other without a gap.

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/pipeline/orders.h"

namespace adagp::pipeline {
namespace {

int64_t chimera_slot(const Placement& placement, const Op& op, Phase phase, size_t = 0) {
  const int64_t devices = placement.devices;
  const int64_t unit = op.micro / devices, within = op.micro % (devices / 2);
  const int64_t start = unit * (phase == Phase::kPredict ? devices : 2 * devices) + 2 * within;
  return start + (op.kind == Kind::kForward ? op.stage : 2 * devices - 1 - op.stage);
}

OpList chimera_order(const Placement& placement, int device, Phase phase) {
  OpList ops;
  for (int m = 0; m < placement.micro_batches; ++m) {
    const int replica = placement.replica_of(m);
    const int stage = replica == 0 ? device : placement.devices - 1 - device;
    ops.push_back(compute(Kind::kForward, m, stage, replica));
    if (phase != Phase::kPredict) ops.push_back(compute(Kind::kBackward, m, stage, replica));
  }
  std::stable_sort(ops.begin(), ops.end(), [&](const Op& a, const Op& b) {
    return chimera_slot(placement, a, phase) < chimera_slot(placement, b, phase);
  });
  return ops;
}

void check_chimera(const Request& request) {
  if (request.devices % 2 != 0) {
    throw UsageError(core::cat("pipeline: chimera: ", request.devices,
                               " stages; two opposite pipelines need an even number"));
  }
  if (request.micro_batches % request.devices != 0) {
    throw UsageError(core::cat("pipeline: chimera: ", request.micro_batches, " micro-batches on ",
                               request.devices, " stages; expected a multiple of ", request.devices,
                               " (half of every ", request.devices, " go in each direction)"));
  }
}

}  // namespace

Schedule chimera() {
  Schedule schedule;
  schedule.name = "chimera";
  schedule.about = "two replicas in opposite directions, which fill each other's bubbles";
  schedule.replicas = 2;
  schedule.order = chimera_order;
  // Of each direction: what is between a stage's forward and its backward pass, half a unit at
  // most.
  schedule.stash_bound = [](const Placement& placement, int device) {
    const int half = placement.devices / 2;
    return std::min(half, placement.devices - device) + std::min(half, device + 1);
  };
  schedule.check = check_chimera;
  schedule.place = chimera_slot;
  return schedule;
}

}  // namespace adagp::pipeline

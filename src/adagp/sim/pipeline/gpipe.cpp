// GPipe: all forward passes, then all backward passes, the last micro-batch first.

#include "adagp/sim/pipeline/orders.h"

namespace adagp::pipeline {

Op compute(Kind kind, int micro, int stage, int replica) {
  Op op;
  op.kind = kind;
  op.micro = micro;
  op.stage = stage;
  op.replica = replica;
  return op;
}

OpList forwards(const Placement& placement, int device) {
  OpList ops;
  for (int m = 0; m < placement.micro_batches; ++m) {
    ops.push_back(compute(Kind::kForward, m, device));
  }
  return ops;
}

Schedule gpipe() {
  Schedule schedule;
  schedule.name = "gpipe";
  schedule.about = "all forward passes of a batch, then all backward passes";
  schedule.order = [](const Placement& placement, int device, Phase phase) {
    OpList ops = forwards(placement, device);
    if (phase == Phase::kPredict) return ops;
    for (int m = placement.micro_batches - 1; m >= 0; --m) {
      ops.push_back(compute(Kind::kBackward, m, device));
    }
    return ops;
  };
  schedule.stash_bound = [](const Placement& placement, int) { return placement.micro_batches; };
  return schedule;
}

}  // namespace adagp::pipeline

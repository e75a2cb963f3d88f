// What schedules share whose stages go down the devices and back up. With passes of one slot, GP
// batches need no order but slot 2 m + s for micro-batch m at stage s: a device's two stages differ
// by an odd number, so they never meet.

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/pipeline/orders.h"

namespace adagp::pipeline {
namespace {

int v_device(const Placement& placement, int stage) {
  return std::min(stage, placement.stages - 1 - stage);
}

int64_t v_place(const Placement& placement, const Op& op, Phase phase, size_t index) {
  if (phase == Phase::kPredict) return int64_t{2} * op.micro + op.stage;
  // What of a GP batch is still to come stands between the first forward passes of a BP batch, on
  // the way down, and before all others.
  const int64_t slot = v_device(placement, op.stage) + 2 * static_cast<int64_t>(index);
  const bool goes_down = op.kind == Kind::kForward && op.stage < placement.devices;
  const bool first = goes_down && op.micro == static_cast<int64_t>(index);
  return first ? slot : slot + placement.stages;
}

}  // namespace

OpList v_forwards(const Placement& placement, int device) {
  OpList ops;
  for (int m = 0; m < placement.micro_batches; ++m) {
    ops.push_back(compute(Kind::kForward, m, device));
    ops.push_back(compute(Kind::kForward, m, placement.stages - 1 - device));
  }
  std::stable_sort(ops.begin(), ops.end(), [&](const Op& a, const Op& b) {
    return v_place(placement, a, Phase::kPredict, 0) < v_place(placement, b, Phase::kPredict, 0);
  });
  return ops;
}

Schedule v_shaped(const std::string& name) {
  Schedule schedule;
  schedule.name = name;
  schedule.chunked = true;
  schedule.usual_chunks = 2;
  schedule.trains = false;
  schedule.home = v_device;
  schedule.place = v_place;
  schedule.check = [name](const Request& request) {
    if (request.chunks == 0 || request.chunks == 2) return;
    throw UsageError(core::cat("pipeline: ", name, ": ", request.chunks,
                               " chunks; expected 2, one on the way down and one back"));
  };
  return schedule;
}

}  // namespace adagp::pipeline

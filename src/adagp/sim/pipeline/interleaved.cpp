// Interleaved 1F1B: a device holds several stages that are `devices` apart, so that a micro-batch
// comes round several times and the bubbles shrink by as much. A device takes `devices`
// micro-batches through one of its stages, then through the next.

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/pipeline/orders.h"

namespace adagp::pipeline {
namespace {

// The k-th forward or backward pass of a device.
Op round_robin(const Placement& placement, int device, int k, bool backward) {
  const int devices = placement.devices, chunks = placement.chunks();
  const int turn = (k / devices) % chunks;
  const int chunk = backward ? chunks - 1 - turn : turn;
  const int micro = k / (devices * chunks) * devices + k % devices;
  return compute(backward ? Kind::kBackward : Kind::kForward, micro, chunk * devices + device);
}

// Forward passes before the first backward pass. A micro-batch that has gone round all stages comes
// back to device d 2 * (devices - 1 - d) passes after the last stage took it.
int interleaved_warm_up(const Placement& placement, int device) {
  const int after = placement.devices - 1 - device;
  const int total = placement.micro_batches * placement.chunks();
  if (placement.chunks() == 1) return std::min(total, after + 1);  // 1F1B itself
  return std::min(total, 2 * after + (placement.chunks() - 1) * placement.devices + 1);
}

OpList interleaved_order(const Placement& placement, int device, Phase phase) {
  const int total = placement.micro_batches * placement.chunks();
  const int warm_up = phase == Phase::kPredict ? total : interleaved_warm_up(placement, device);
  OpList ops;
  for (int k = 0; k < warm_up; ++k) ops.push_back(round_robin(placement, device, k, false));
  if (phase == Phase::kPredict) return ops;
  for (int k = 0; k < total; ++k) {
    ops.push_back(round_robin(placement, device, k, true));
    if (k + warm_up < total) ops.push_back(round_robin(placement, device, k + warm_up, false));
  }
  return ops;
}

void check_interleaved(const Request& request) {
  if (request.micro_batches % request.devices != 0) {
    throw UsageError(core::cat("pipeline: interleaved: ", request.micro_batches,
                               " micro-batches on ", request.devices,
                               " devices; expected a multiple of ", request.devices));
  }
}

}  // namespace

Schedule interleaved() {
  Schedule schedule;
  schedule.name = "interleaved";
  schedule.about = "1F1B with several stages per device (--chunks), which shortens the bubbles";
  schedule.chunked = true;
  schedule.usual_chunks = 2;
  schedule.order = interleaved_order;
  schedule.stash_bound = interleaved_warm_up;
  schedule.check = check_interleaved;
  return schedule;
}

}  // namespace adagp::pipeline

// Backpropagation alone: no predictor, every batch the same.
#include "adagp/sim/accel/design/parts.h"

namespace adagp::accel {
namespace {

void baseline_batch(std::span<const LayerCost> layers, schedule::Phase,
                    const Accelerator& accelerator, BatchCost& out) {
  layers_alone(layers, schedule::Phase::kBackprop, out);
  finish(accelerator.array.pes(), accelerator, out);
}

}  // namespace

const Design kBaseline = {"baseline", "backpropagation of every batch", false, false,
                          baseline_batch};

}  // namespace adagp::accel

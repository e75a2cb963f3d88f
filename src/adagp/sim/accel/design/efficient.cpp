// One array, and a memory of its own for the predictor: layer, then predictor.
#include "adagp/sim/accel/design/parts.h"

namespace adagp::accel {
namespace {

void efficient_batch(std::span<const LayerCost> layers, schedule::Phase phase,
                     const Accelerator& accelerator, BatchCost& out) {
  layers_alone(layers, phase, out);
  for (size_t i = 0; i < layers.size(); ++i) {
    add_predictor(layers[i].predictor_forward, out.forward[i], out);
    if (phase == schedule::Phase::kBackprop) {
      add_predictor(layers[i].predictor_backward, out.backward[i], out);
    }
  }
  finish(accelerator.array.pes(), accelerator, out);
}

}  // namespace

const Design kEfficient = {"efficient", "predictor after each layer, its weights kept on chip",
                           true, false, efficient_batch};

}  // namespace adagp::accel

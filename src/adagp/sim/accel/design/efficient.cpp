// One array, and a memory of its own for the predictor's weights: layer, then predictor.
#include "adagp/sim/accel/design/parts.h"

namespace adagp::accel {
namespace {

void efficient_batch(std::span<const LayerCost> layers, schedule::Phase phase,
                     const Accelerator& accelerator, BatchCost& out) {
  layers_alone(layers, phase, out);
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerCost& layer = layers[i];
    add_predictor(layer.predictor_forward, out.forward[i], out);
    swap_words(layer.reload, 0, accelerator, out.forward[i], out);
    if (phase == schedule::Phase::kBackprop) {
      add_predictor(layer.predictor_backward, out.backward[i], out);
      swap_words(layer.reload, layer.reload, accelerator, out.backward[i], out);
    }
  }
  finish(accelerator.array.pes(), accelerator, out);
}

}  // namespace

const Design kEfficient = {"efficient", "predictor after each layer, its weights kept on chip",
                           true, false, efficient_batch};

}  // namespace adagp::accel

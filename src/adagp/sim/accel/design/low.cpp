// No extra hardware: the predictor's weights come from off chip before each prediction, and its
// results go back.
#include "adagp/sim/accel/design/parts.h"

namespace adagp::accel {
namespace {

void low_batch(std::span<const LayerCost> layers, schedule::Phase phase,
               const Accelerator& accelerator, BatchCost& out) {
  layers_alone(layers, phase, out);
  const bool backprop = phase == schedule::Phase::kBackprop;
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerCost& layer = layers[i];
    add_predictor(layer.predictor_forward, out.forward[i], out);
    swap_words(layer.swap_in, 0, accelerator, out.forward[i], out);
    if (backprop) {
      // Training needs the weights again, and its gradient is stored.
      add_predictor(layer.predictor_backward, out.backward[i], out);
      swap_words(layer.swap_in, layer.swap_out_backprop, accelerator, out.backward[i], out);
    } else {
      swap_words(0, layer.swap_out_predict, accelerator, out.forward[i], out);
    }
  }
  finish(accelerator.array.pes(), accelerator, out);
}

}  // namespace

const Design kLow = {"low", "predictor after each layer, its weights loaded and results stored",
                     true, false, low_batch};

}  // namespace adagp::accel

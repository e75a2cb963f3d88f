// The designs that have one array: backpropagation alone, and the predictor after each layer.

#include "adagp/sim/accel/design/parts.h"

namespace adagp::accel {
namespace {

void baseline_batch(std::span<const LayerCost> layers, schedule::Phase,
                    const Accelerator& accelerator, BatchCost& out) {
  layers_alone(layers, schedule::Phase::kBackprop, out);
  finish(accelerator.array.pes(), accelerator, out);
}

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

// No predictor, every batch the same.
const Design kBaseline = {"baseline", "backpropagation of every batch", false, false,
                          baseline_batch};

// No extra hardware: the predictor's weights come from off chip before each prediction, and its
// results go back.
const Design kLow = {"low", "predictor after each layer, its weights loaded and results stored",
                     true, false, low_batch};

// One array, and a memory of its own for the predictor's weights: layer, then predictor.
const Design kEfficient = {"efficient", "predictor after each layer, its weights kept on chip",
                           true, false, efficient_batch};

}  // namespace adagp::accel

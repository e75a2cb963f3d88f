// No extra hardware: the predictor's weights come from off chip before each prediction, and its
// results go back.
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/design/parts.h"
#include "adagp/sim/accel/memory.h"

namespace adagp::accel {
namespace {

void swap_words(int64_t in, int64_t stored, const Accelerator& a, Cycles& step, BatchCost& out) {
  const int64_t words = add(in, stored);
  if (words == 0) return;
  const double rate =
      a.swap_words_per_cycle > 0 ? a.swap_words_per_cycle : static_cast<double>(a.array.columns);
  step.swap = add(step.swap, cycles_for(static_cast<double>(words), rate));
  out.energy_predictor += transfer_energy(static_cast<double>(in), static_cast<double>(stored), a);
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

}  // namespace

const Design kLow = {"low", "predictor after each layer, its weights loaded and results stored",
                     true, false, low_batch};

}  // namespace adagp::accel

#pragma once
// What the designs share: a layer's own share of a batch, and the sums at the end.

#include "adagp/sim/accel/design/design.h"

namespace adagp::accel {

// Fills forward and backward of every layer with the layer's own work, and their energies. A GP
// batch has no backward pass; it updates the predicted layers in its forward pass.
void layers_alone(std::span<const LayerCost> layers, schedule::Phase phase, BatchCost& out);

// The updates of a GP batch and nothing else.
void updates_alone(std::span<const LayerCost> layers, BatchCost& out);

// A predictor pass one after the other with the layer, on the layer's array.
void add_predictor(const PassCost& cost, Cycles& step, BatchCost& out);

// Time in which so many words of the predictor go on or off chip.
int64_t swap_cycles(int64_t words, const Accelerator& accelerator);
// One after the other with the layer.
void swap_words(int64_t in, int64_t stored, const Accelerator& accelerator, Cycles& step,
                BatchCost& out);

// Adds up the steps, and leakage of `pes` PEs for the time they take.
void finish(int64_t pes, const Accelerator& accelerator, BatchCost& out);

}  // namespace adagp::accel

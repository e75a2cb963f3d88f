#pragma once
// The channels of a map in two halves, as reversible blocks take them.

#include "adagp/engine/nn/reversible.h"

namespace adagp::models {

// Each dense in the memory order of x.
nn::Halves halves_of(const at::Tensor& x);
// The blocks on both halves of x. `reversible` false: the activations stay in memory.
nn::Halves run_halves(const nn::ReversibleBlocks& blocks, const at::Tensor& x, bool reversible);

}  // namespace adagp::models

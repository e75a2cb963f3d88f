#pragma once
// The channels of a map in two halves, as reversible blocks take them.

#include "adagp/nn/reversible.h"

namespace adagp::models {

// Each dense in the memory order of x.
nn::Halves halves_of(const at::Tensor& x);

}  // namespace adagp::models

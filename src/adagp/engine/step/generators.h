#pragma once
// The random generators that dropout and the like draw from.

#include "adagp/engine/io/tensors.h"
#include "adagp/engine/step/team.h"

namespace adagp::step {

// Of this process; in a team each has its own entries.
io::TensorMap generator_state(const Team& team, at::Device device);
// Throws DataError when the entries are missing.
void load_generator_state(const Team& team, at::Device device, const io::TensorMap& saved);

}  // namespace adagp::step

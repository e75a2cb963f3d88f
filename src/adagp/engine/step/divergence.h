#pragma once
// Where did it break? Looks for the first layer whose weights or output are not finite.

#include <string>

#include <torch/types.h>

#include "adagp/engine/models/model.h"

namespace adagp::step {

// "layer 'features.3': weights not finite", "layer 'fc': output not finite", or "all layers finite,
// the largest output 1e9 in layer 'fc'".
std::string describe_divergence(models::Net& net, const models::Tensors& inputs);

}  // namespace adagp::step

#pragma once
// The error at the network's output, where it is one of class scores.

#include <string>

#include "adagp/engine/predictor/predictor.h"

namespace adagp::predictor {

// The gradient of the loss by the scores, [B, classes]; `classes` as the last layer makes them.
// Throws UsageError naming `kind` for networks of another shape.
const at::Tensor& class_errors(const Context& context, const std::vector<nn::WeightLayer*>& layers,
                               const std::string& kind);

}  // namespace adagp::predictor

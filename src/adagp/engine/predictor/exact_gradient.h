#pragma once
// A layer's weight gradient without a graph: what is put in, and the error at what comes out.

#include <torch/types.h>

#include "adagp/engine/nn/layer.h"

namespace adagp::predictor {

// In the shape and layout of the weight, and in its precision; computed in that of `input`.
// `delta`: the gradient of the loss by the layer's output.
at::Tensor weight_gradient(const nn::WeightLayer& layer, const at::Tensor& input,
                           const at::Tensor& delta);

}  // namespace adagp::predictor

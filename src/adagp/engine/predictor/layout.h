#pragma once
// Weight gradients as matrices [filters, weights of one filter] in the memory order of the weight.
//
// The order of a filter's weights inside a row is the order in memory (channels-last convolutions:
// kernel row, kernel column, input channel). Rows are therefore views, and a predicted row matrix
// has its weight's layout without a copy, which the fused optimizer kernels rely on.

#include <vector>

#include <torch/types.h>

#include "adagp/engine/nn/layer.h"

namespace adagp::predictor {

// [out, cols] view of a weight or of a gradient with the weight's strides.
at::Tensor as_rows(const at::Tensor& weight);
// The inverse: `rows` [out, cols], contiguous, seen in the shape and layout of `weight`.
at::Tensor like_weight(const at::Tensor& rows, const at::Tensor& weight);
// The gradient of a layer's weight in the weight's layout (a copy only if autograd chose another);
// bf16 where the layer computes in bf16.
at::Tensor gradient_of(const nn::WeightLayer& layer);
// That of its bias; undefined: it has no bias, or the backward pass made no gradient for it.
at::Tensor bias_gradient_of(const nn::WeightLayer& layer);

// The device of the layers, in fp32 whatever they compute in, or in double where they do.
at::TensorOptions predictor_options(const std::vector<nn::WeightLayer*>& layers);

}  // namespace adagp::predictor

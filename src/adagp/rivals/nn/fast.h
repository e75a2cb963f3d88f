#pragma once
// Products of layers in block floating point, as FAST trains (docs/methods.md): every operand of
// the three products of a layer is rounded along the axis that the product sums over.

#include <memory>

#include "adagp/engine/nn/layer.h"
#include "adagp/gpu/cuda/conv/block_float.h"

namespace adagp::nn {

// What all layers of a network share.
struct FastShared {
  cuda::Rounding of_gradients = cuda::Rounding::kStochastic;
  cuda::Rounding of_others = cuda::Rounding::kNearest;
  int exponent_bits = 8;  // fewer: groups far below a tensor's largest number lose bits
  bool regroup = true;    // false: rounded once along the channels, for both products
  bool bf16 = false;      // products in bf16: for widths up to 8
  at::Tensor seed;        // int64 [1] on the device, another one in each step
  uint64_t products = 0;  // since the seed was set, so that no two draw the same numbers
};

// Bits of the mantissas, and which of a layer's operands has them.
enum class Operand { kWeight, kActivation, kGradient };

// The layer's product with rounded operands; its gradients are products of rounded operands too.
struct FastLayer : ProductRule {
  FastLayer() = default;
  FastLayer(std::shared_ptr<FastShared> of_all, at::Tensor of_operands)
      : shared(std::move(of_all)), widths(std::move(of_operands)) {}
  at::Tensor product(const WeightLayer& layer, const at::Tensor& x, const at::Tensor& weight,
                     const at::Tensor& bias) const override;

  std::shared_ptr<FastShared> shared;
  at::Tensor widths;  // int32 [3] on the device, by Operand; 0: not rounded
};

// A dense tensor in memory order, as the rounding sees it: groups are along `length`.
struct GroupAxis {
  int64_t outer = 1, length = 0, inner = 1;
};
// `x` is dense. The result has its shape and memory order.
at::Tensor block_float(const at::Tensor& x, const GroupAxis& axis, const at::Tensor& width,
                       cuda::Rounding rounding, const FastShared& shared, uint64_t tag,
                       at::ScalarType type);

// An operand in the memory order in which its axes are: maps in channels-last, others row by row.
at::Tensor in_group_order(const at::Tensor& x, const LayerInfo& info);
// The axes that the products sum over, of tensors in_group_order(): channels of activations and
// inputs of filters (forward), channels of gradients and filters (input gradient), all positions of
// a batch (weight gradient). Channels of different groups of a convolution are never summed.
GroupAxis along_channels(const at::Tensor& x, const LayerInfo& info);
GroupAxis along_inputs(const at::Tensor& weight);
GroupAxis along_filters(const at::Tensor& weight, const LayerInfo& info);
GroupAxis along_positions(const at::Tensor& x, const LayerInfo& info);

// The product of a layer of this form. `weight` and `bias` (or undefined) may be a part of its own.
at::Tensor fast_product(const FastLayer& layer, const LayerInfo& info, const at::Tensor& x,
                        const at::Tensor& weight, const at::Tensor& bias);

}  // namespace adagp::nn

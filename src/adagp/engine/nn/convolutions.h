#pragma once
// The ways in which a layer's convolution is computed, in one list: the first that fits runs.
//
// Each entry is differentiable and knows the layer's roundings and the queue of late gradients, so
// the list is here. gpu/ has kernels behind plain pointers, without autograd.

#include <array>
#include <string_view>
#include <vector>

#include "adagp/engine/nn/layer.h"

namespace adagp::nn {

// What is asked for. It refers to the layer and its tensors, and lives shorter than they do.
struct Convolution {
  const WeightLayer& layer;
  const at::Tensor& x;          // [B, in, H, W], as it came
  const at::Tensor& bias;       // undefined: none is added
  std::array<int64_t, 2> size;  // height and width of the output
  mutable at::Tensor kept = {};

  const LayerInfo& info() const { return layer.info(); }
  const at::Tensor& weight() const { return layer.used_weight(); }
  // x in the precision of the weight, rounded at most once.
  const at::Tensor& rounded() const {
    if (!kept.defined()) kept = layer.in_precision(x);
    return kept;
  }
};

struct ConvolutionEntry {
  std::string_view name;
  bool (*fits)(const Convolution&);
  at::Tensor (*run)(const Convolution&);  // [B, out, size]
};

// The list. Its last entry takes every convolution.
const std::vector<ConvolutionEntry>& convolutions();
// The first entry that fits.
const ConvolutionEntry& find_convolution(const Convolution& convolution);

}  // namespace adagp::nn

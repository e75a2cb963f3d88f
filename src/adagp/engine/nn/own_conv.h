#pragma once
// What convolutions by our own kernels have in common: the way through autograd.

#include "adagp/engine/nn/layer.h"

namespace adagp::nn {

// Products without autograd. Maps are dense in channels-last order and begin at a multiple of 16
// bytes.
struct OwnConv {
  at::Tensor (*forward)(const at::Tensor& x, const at::Tensor& weight, int64_t stride);
  // Null: this convolution takes no x that needs a gradient.
  at::Tensor (*input_gradient)(const at::Tensor& dy, const at::Tensor& weight, const at::Tensor& x,
                               int64_t stride);
  at::Tensor (*weight_gradient)(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                                int64_t stride);
};

// Autograd follows it; its weight gradient goes to the thread's gradient_queue(), if there is one.
// `own` outlives the graph.
at::Tensor own_product(const OwnConv& own, const at::Tensor& x, const at::Tensor& weight,
                       int64_t stride);

}  // namespace adagp::nn

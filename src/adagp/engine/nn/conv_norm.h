#pragma once
// Convolution, batch norm, addition, ReLU and pool as one step of a network: the form in which a
// GPU needs the fewest passes over memory. Elsewhere it is exactly the sequence of the single
// steps.

#include <functional>
#include <optional>

#include "adagp/engine/nn/batch_norm.h"
#include "adagp/engine/nn/joined_map.h"
#include "adagp/engine/nn/layer.h"
#include "adagp/engine/nn/ops.h"

namespace adagp::nn {

// What follows the norm, in this order.
struct NormAct {
  // Added; empty: nothing. Called after the convolution, so that layers run in their order.
  std::function<at::Tensor()> residual;
  bool relu = false;
  bool relu6 = false;  // instead of relu
  std::optional<Pool2d> pool;
  // Where the result is written if it can be; neither with a residual nor with a pool.
  MapPlace place;
};

// For steps that end in a ReLU.
inline NormAct relu_act() {
  NormAct act;
  act.relu = true;
  return act;
}

// pool(relu(norm(conv(x)) + residual)). Taps see the convolution's output.
//
// With our kernels the convolution's bias is not added to the activation: the norm takes it out
// again, so it only moves the running mean and the summary, and its gradient is zero. (Added and
// taken out it would have a gradient of rounding errors.)
at::Tensor conv_norm(Conv2dImpl& conv, BatchNorm2dImpl& norm, const at::Tensor& x,
                     const NormAct& act);

// The same for an x that others read afterwards. Replaces x: they must read the new one. Their
// gradients for it are added inside the convolution's (nn/conv_branch.h), where that saves passes
// over memory.
at::Tensor conv_norm_shared(Conv2dImpl& conv, BatchNorm2dImpl& norm, at::Tensor& x,
                            const NormAct& act);

// relu(norm(x)), for networks that normalise before they convolve. Leaves x alone.
at::Tensor norm_relu(BatchNorm2dImpl& norm, const at::Tensor& x);

}  // namespace adagp::nn

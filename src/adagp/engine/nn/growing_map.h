#pragma once
// The map of a dense block: each layer reads all channels so far, and adds some of its own.
//
// With our kernels all of them lie in one buffer. What travels from layer to layer is a view of its
// first channels, so that no layer copies the channels of those before it; norms read the view as
// it is, and their backward pass adds the gradients that the later layers have for it. In training
// the statistics of a channel are taken once, in the pass that writes it into the buffer
// (nn/growing_buffer.h). Elsewhere the steps are exactly norm, ReLU and concat.

#include "adagp/engine/nn/fused_norm.h"
#include "adagp/engine/nn/growing_buffer.h"
#include "adagp/engine/nn/layer.h"

namespace adagp::nn {

// One for a block: its layers and the norm behind it share it.
class GrowingMap {
 public:
  // room: the channels that the whole block will have.
  explicit GrowingMap(int64_t room) : buffer_(room) {}

  // relu(norm(x)) for a layer, and x for what comes behind it: use `passed_on` there, not x. x is a
  // result of grow(), or any map: in training that is then copied into a buffer.
  NormBranch norm_relu_branch(BatchNorm2dImpl& norm, const at::Tensor& x);

  // x with the channels of conv(input) behind its own. x is dense, or a result of grow() that was
  // not grown before: the new channels go into the memory behind it. To keep a result beyond that,
  // make it dense(). Taps see the convolution's output.
  at::Tensor grow(const at::Tensor& x, Conv2dImpl& conv, const at::Tensor& input);
  // The same with channels that are there already.
  at::Tensor grow(const at::Tensor& x, const at::Tensor& added);

  // relu(norm(x)) behind the block.
  at::Tensor norm_relu(BatchNorm2dImpl& norm, const at::Tensor& x) const;

 private:
  // x itself where it is in a buffer, else in a new one.
  at::Tensor begun(const at::Tensor& x);
  at::Tensor grown(const at::Tensor& x, const at::Tensor& added,
                   const std::optional<TapSink::SummaryTarget>& summary);

  GrowingBuffer buffer_;
};

// x itself where there are no gaps between its positions, else a dense copy: grow() writes behind
// neither.
at::Tensor dense(const at::Tensor& x);

}  // namespace adagp::nn

#pragma once
// The training loss of a batch, with what the progress line shows of it.

#include "adagp/train/session.h"

namespace adagp::train {

struct Loss {
  at::Tensor value;     // the mean, a scalar on the device
  at::Tensor gradient;  // of the logits; undefined: `value` has a graph of its own
};

// Cross-entropy in fp32 with this label smoothing, added to the tally. One kernel where ours run.
Loss take_loss(Tally& tally, double smoothing, const at::Tensor& logits, const at::Tensor& labels,
               bool want_gradient);

// Backpropagates `loss * share` from the logits.
void backward(const Loss& loss, const at::Tensor& logits, double share);

}  // namespace adagp::train

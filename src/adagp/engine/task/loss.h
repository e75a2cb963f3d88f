#pragma once
// Softmax cross-entropy, with what the progress line shows of it.

#include "adagp/engine/task/task.h"

namespace adagp::task {

// In fp32 with this label smoothing, added to the tally. logits [B, classes], labels int64 [B].
// One kernel where ours run, which makes the gradient itself when it is wanted and keeps the
// examples' losses; with `differentiable` the value has a graph of autograd instead.
Loss softmax_loss(RunningMetrics& tally, double smoothing, const at::Tensor& logits,
                  const at::Tensor& labels, const LossRequest& request,
                  bool differentiable = false);
// Of each example, float [B], without smoothing and without a graph.
at::Tensor softmax_losses(const at::Tensor& logits, const at::Tensor& labels);

// Backpropagates `loss * share` from the outputs. `weights`, float [B]: what each example's part of
// the mean counts; undefined: 1 each.
void backward(const Loss& loss, const models::Tensors& outputs, double share,
              const at::Tensor& weights = {});

}  // namespace adagp::task

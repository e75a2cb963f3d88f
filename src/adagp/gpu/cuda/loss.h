#pragma once
// Softmax cross-entropy with label smoothing, its gradient, and what the progress line shows of a
// batch, in one kernel.

#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda {

struct LossArgs {
  const void* logits = nullptr;  // [batch, classes]
  Type type = Type::kFloat;
  const int64_t* labels = nullptr;  // [batch]
  int64_t batch = 0, classes = 0;
  float smoothing = 0;
  void* gradient = nullptr;  // out [batch, classes] of logits' type: of the mean loss; null: none
  float* loss = nullptr;     // out [1]: the mean
  // Added to, [4] or null: sum of losses, hits of the first answer, hits among the first five (all
  // of them when there are fewer classes), examples. A class counts as ahead of the label's when
  // its logit is larger, or equal at a smaller index. NaN logits give a NaN loss and no hit.
  double* meters = nullptr;
  // Written, or both null: table[rows[i]] is the loss of example i without smoothing. `rows`,
  // [batch], are places in the table, none of them twice.
  float* table = nullptr;
  const int64_t* rows = nullptr;
  void* workspace = nullptr;  // loss_workspace(batch) bytes, zeroed once
};
int64_t loss_workspace(int64_t batch);
void softmax_loss(const LossArgs& args, Stream stream);

namespace reference {
void softmax_loss(const LossArgs& args);
}

}  // namespace adagp::cuda

#pragma once
// Batch norm over the batches of several processes.

#include <functional>

#include <torch/types.h>

namespace adagp::nn {

// Adds up over the processes, in place; `processes` of them.
struct NormSync {
  std::function<void(at::Tensor&)> sum;
  int64_t processes = 1;
  double weight = 1;  // this process's examples, in the mean of all processes'
};

// While one is alive, norms of this thread in training mode take their statistics from all
// processes; `sync` must outlive the backward pass.
class NormSyncScope {
 public:
  explicit NormSyncScope(const NormSync* sync);  // null: nothing changes
  ~NormSyncScope();
  NormSyncScope(const NormSyncScope&) = delete;
  NormSyncScope& operator=(const NormSyncScope&) = delete;

 private:
  const NormSync* previous_;
};
const NormSync* norm_sync();  // of this thread, or null

// x [B, C, H, W] normalised by the mean and variance of all processes' x; the running statistics
// move as PyTorch's do.
at::Tensor synced_batch_norm(const NormSync& sync, const at::Tensor& x, const at::Tensor& weight,
                             const at::Tensor& bias, const at::Tensor& running_mean,
                             const at::Tensor& running_var, double momentum, double eps);

}  // namespace adagp::nn

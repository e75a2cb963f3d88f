#pragma once
// Batch normalisation over channels with PyTorch's names, defaults and statistics.

#include <torch/nn/module.h>

namespace adagp::nn {

// While one is alive, norms of this thread in training mode leave their running statistics alone:
// for passes over images that the network will not be used on.
class KeepStatistics {
 public:
  KeepStatistics();
  ~KeepStatistics();
  KeepStatistics(const KeepStatistics&) = delete;
  KeepStatistics& operator=(const KeepStatistics&) = delete;
  static bool active();

 private:
  bool before_;
};

class BatchNorm2dImpl : public torch::nn::Module {
 public:
  explicit BatchNorm2dImpl(int64_t channels, double eps = 1e-5, double momentum = 0.1);
  // [B, C, H, W] -> the same shape. In training mode the running statistics move, with or without
  // autograd; on meta tensors nothing moves.
  at::Tensor forward(const at::Tensor& x);

  at::Tensor weight, bias;               // [C]
  at::Tensor running_mean, running_var;  // [C]
  at::Tensor num_batches_tracked;        // []
  double eps() const { return eps_; }
  double momentum() const;  // of the running statistics; 0 inside KeepStatistics
  // [C] zeros beside the weights: the gradient of a bias that the norm takes out again.
  const at::Tensor& zeros();

 private:
  int64_t channels_;
  double eps_, momentum_;
  at::Tensor zeros_;
};
TORCH_MODULE(BatchNorm2d);

}  // namespace adagp::nn

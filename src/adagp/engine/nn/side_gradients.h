#pragma once
// Weight gradients beside the rest of the backward pass, on another stream of the GPU.

#include "adagp/engine/nn/gradient_queue.h"
#include "adagp/gpu/device/side_stream.h"

namespace adagp::nn {

// A product of matrices leaves the memory idle, a norm the arithmetic units, and small maps half of
// the GPU: so a layer's weight gradient and the norm of the layer before run together in less time
// than one after the other.
//
// Takes convolutions in bf16, while a CUDA graph records the pass: kernels that are launched one by
// one leave gaps anyway, and in those passes cuDNN measures its algorithms, which it must do alone.
// A layer whose input needs no gradient is the last of the pass: nothing is left to run beside.
class SideGradients final : public GradientQueue {
 public:
  explicit SideGradients(const at::Device& device) : side_(device) {}

  bool takes(const at::Tensor& x, const at::Tensor& weight) const override;
  void set_start() override { side_.set_start(); }
  void push(std::vector<at::Tensor> used, std::function<void()> work) override;
  // What the stream of the backward pass queues from now on finds all gradients.
  void join();

 private:
  std::vector<at::Tensor> used_;  // must outlive side_, which joins
  int64_t bytes_ = 0;             // of used_
  device::SideStream side_;
};

}  // namespace adagp::nn

#include "adagp/engine/nn/side_gradients.h"

#include <ATen/ATen.h>

#include "adagp/gpu/device/graph.h"

namespace adagp::nn {
namespace {

// Of maps that live longer for the other stream's sake. Then the pass waits for it.
constexpr int64_t kMostBytes = int64_t{1} << 28;

}  // namespace

bool SideGradients::takes(const at::Tensor& x, const at::Tensor& weight) const {
  return x.dim() == 4 && x.requires_grad() && weight.scalar_type() == at::kBFloat16 &&
         weight.is_leaf() && device::SideStream::possible(x.device()) &&
         device::recording(x.device());
}

void SideGradients::push(std::vector<at::Tensor> used, std::function<void()> work) {
  side_.run(work);
  for (at::Tensor& x : used) {
    bytes_ += static_cast<int64_t>(x.nbytes());
    used_.push_back(std::move(x));
  }
  if (bytes_ > kMostBytes) join();
}

void SideGradients::join() {
  side_.join();
  used_.clear();
  bytes_ = 0;
}

}  // namespace adagp::nn

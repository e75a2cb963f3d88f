// A norm of channels whose statistics are known: no read of the activation.

#include "adagp/gpu/cuda/norm/norm.h"
#include "adagp/gpu/cuda/norm/norm_finish.cuh"
#include "adagp/gpu/cuda/norm/vector.cuh"

namespace adagp::cuda {
namespace {

__global__ void moments_kernel(const __grid_constant__ MomentsArgs a, double unbiased) {
  const int c = static_cast<int>(blockIdx.x) * norm::kThreads + static_cast<int>(threadIdx.x);
  if (c == 0 && a.batches != nullptr) *a.batches += 1;
  if (c >= a.channels) return;
  norm::finish_norm_channel(a, c, a.known_mean[c], a.known_variance[c], unbiased);
}

}  // namespace

void norm_moments(const MomentsArgs& args, Stream stream) {
  if (args.channels == 0 || args.positions == 0) return;
  const auto n = static_cast<double>(args.positions);
  const auto blocks = static_cast<unsigned>((args.channels + norm::kThreads - 1) / norm::kThreads);
  moments_kernel<<<blocks, norm::kThreads, 0, static_cast<cudaStream_t>(stream)>>>(args,
                                                                                   n / (n - 1));
  check_launch("norm_moments");
}

}  // namespace adagp::cuda

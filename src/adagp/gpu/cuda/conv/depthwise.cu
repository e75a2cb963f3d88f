// The launches; what a thread does is in depthwise_body.h.

#include <cuda_runtime.h>

#include "adagp/gpu/cuda/conv/depthwise_body.h"
#include "adagp/gpu/cuda/launch.cuh"

namespace adagp::cuda {
namespace depthwise {
namespace {

template <typename T, Pass kPass, int kStride>
__global__ void __launch_bounds__(Gather::kThreads, 2) gather_kernel(const Gather g) {
  extern __shared__ __align__(16) float shared[];
  const int part = static_cast<int>(blockIdx.x) % g.lanes.parts;
  const int block = static_cast<int>(blockIdx.x) / g.lanes.parts;
  const int thread = static_cast<int>(threadIdx.x);
  share_weights<T>(g, part, thread, shared);
  __syncthreads();
  const Place place = place_of(g.lanes, part, thread);
  if (place.works) {
    gather_tiles<T, kPass, kStride>(g, static_cast<uint32_t>(block), place, shared);
  }
}

template <typename T, int kStride>
__global__ void __launch_bounds__(Reduce::kThreads, 3) reduce_kernel(const Reduce g) {
  __shared__ float shared[kLanes * Reduce::kStride];
  const int part = static_cast<int>(blockIdx.x) % g.lanes.parts;
  const int chunk = static_cast<int>(blockIdx.x) / g.lanes.parts;
  const int thread = static_cast<int>(threadIdx.x);
  const Place place = place_of(g.lanes, part, thread);
  float sums[kTaps][kLanes] = {};
  if (place.works) add_chunk<T, kStride>(g, static_cast<uint32_t>(chunk), place, sums);
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) {
    share_sums(thread, sums[tap], shared);
    __syncthreads();
    add_shared(g, part, chunk, tap, thread, shared);
    __syncthreads();
  }
}

template <typename T>
__global__ void __launch_bounds__(Reduce::kColumns* Reduce::kGroups) finish_kernel(const Reduce g) {
  __shared__ float shared[Reduce::kColumns * Reduce::kGroups];
  const int block = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  add_chunks(g, block, thread, shared);
  __syncthreads();
  add_groups<T>(g, block, thread, shared);
}

// Calls f.template operator()<T, kStride>().
template <typename F>
void dispatch(const DepthwiseArgs& args, const F& f) {
  if (args.type == Type::kFloat) {
    args.stride == 1 ? f.template operator()<float, 1>() : f.template operator()<float, 2>();
  } else {
    args.stride == 1 ? f.template operator()<Bf16, 1>() : f.template operator()<Bf16, 2>();
  }
}

template <Pass kPass>
void run_gather(const DepthwiseArgs& args, const Gather& g, Stream stream, const char* what) {
  dispatch(args, [&]<typename T, int kStride>() {
    launch(Begin::kAfter, gather_kernel<T, kPass, kStride>, int64_t{g.blocks} * g.lanes.parts,
           Gather::kThreads, g.shared_floats() * 4, stream, what, g);
  });
}

}  // namespace
}  // namespace depthwise

void depthwise_forward(const DepthwiseArgs& args, Stream stream) {
  using namespace depthwise;
  run_gather<Pass::kForward>(args, plan_forward(args), stream, "depthwise_forward");
}

void depthwise_input_gradient(const DepthwiseArgs& args, Stream stream) {
  using namespace depthwise;
  run_gather<Pass::kInputGradient>(args, plan_input_gradient(args), stream,
                                   "depthwise_input_gradient");
}

void depthwise_weight_gradient(const DepthwiseArgs& args, Stream stream) {
  using namespace depthwise;
  const Reduce g = plan_weight_gradient(args);
  dispatch(args, [&]<typename T, int kStride>() {
    launch(Begin::kAfter, reduce_kernel<T, kStride>, int64_t{g.chunks} * g.lanes.parts,
           Reduce::kThreads, 0, stream, "depthwise_weight_gradient", g);
    const int64_t columns = int64_t{kTaps} * g.lanes.channels;
    launch(Begin::kAfter, finish_kernel<T>, (columns + Reduce::kColumns - 1) / Reduce::kColumns,
           Reduce::kColumns * Reduce::kGroups, 0, stream, "depthwise_weight_gradient", g);
  });
}

}  // namespace adagp::cuda

#pragma once
// How blocks find their share of a list of layers, and how their sums come together in an order
// that does not depend on who is first.

#include <cstdint>

#include <cuda_runtime.h>

namespace adagp::cuda {

constexpr unsigned kWholeWarp = 0xFFFFFFFFU;

// The place of `index` in ascending offsets: offset[place] <= index < offset[place + 1].
__device__ inline int find_range(const int* offset, int count, int index) {
  int low = 0, high = count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (offset[middle] <= index) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

template <typename T>
__device__ inline T warp_sum(T value) {
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(kWholeWarp, value, lanes);
  return value;
}

// Over a block of kThreads; only thread 0 gets the sum.
template <int kThreads, typename T>
__device__ inline T block_sum(T value) {
  __shared__ T sums[kThreads / 32];
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  T total = 0;
  if (threadIdx.x == 0) {
    for (int warp = 0; warp < kThreads / 32; ++warp) total += sums[warp];
  }
  __syncthreads();  // sums may be used again
  return total;
}

// Whether this block is the last of `blocks` to come here; then all others' writes are visible to
// it (read them with __ldcg). The counter is back at 0 for the next launch.
__device__ inline bool last_block(uint32_t* counter, uint32_t blocks = gridDim.x) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(counter, blocks - 1) == blocks - 1;
  __syncthreads();
  if (last) __threadfence();
  return last;
}

}  // namespace adagp::cuda

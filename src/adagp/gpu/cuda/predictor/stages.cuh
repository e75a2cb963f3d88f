#pragma once
// Chunks of operands that go through a ring of stages in shared memory.

#include <cstdint>

#include "adagp/gpu/cuda/mma.cuh"
#include "adagp/gpu/cuda/predictor/wgmma.cuh"

namespace adagp::cuda {

// Copies run kStages - 1 - kLag chunks ahead, so that use() may go on reading the stages of kLag
// chunks before its own. All threads of a block call these, begin() when they are done with what
// the stages had before; copies that were begun before it come with the first chunk.
template <int kStages, int kLag, int kStageBytes>
struct Stages {
  static constexpr int kAhead = kStages - 1 - kLag;
  static_assert(kAhead >= 1);

  uint32_t at;  // the first one

  // load(i, stage) for the first chunks.
  template <typename Load>
  __device__ void begin(int chunks, Load&& load) const {
#pragma unroll 1
    for (int i = 0; i < kAhead; ++i) {
      if (i < chunks) load(i, at + i * kStageBytes);
      copy_commit();  // an empty group where nothing is left, so that the count holds
    }
  }
  // load(i, stage) for the others, in their order, and use(i, stage) for each chunk as it arrives.
  template <typename Load, typename Use>
  __device__ void run(int chunks, Load&& load, Use&& use) const {
#pragma unroll 1
    for (int i = 0; i < chunks; ++i) {
      copy_wait<kAhead - 1>();
      show_copies_to_wgmma();
      __syncthreads();  // the chunk is there for all, and all are done with the one that goes
      const int ahead = i + kAhead;
      if (ahead < chunks) load(ahead, at + ahead % kStages * kStageBytes);
      copy_commit();
      use(i, at + i % kStages * kStageBytes);
    }
  }
};

}  // namespace adagp::cuda

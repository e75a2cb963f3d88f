#pragma once
// What the kernels of narrow_conv.h share: units on their way to shared memory.

#include <cstdint>

#include <cuda_runtime.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/gpu/cuda/conv/narrow_conv_plan.h"
#include "adagp/gpu/cuda/mma.cuh"

namespace adagp::cuda::narrow_conv {

// Begins to copy `count` positions of a map from `first` on, kRowBytes of each, `skipped` bytes
// behind a position's first channel. Positions outside the map become zeros.
template <int kRowBytes, int kPitchBytes>
__device__ inline void stage_rows(uint32_t to, const void* map, uint32_t positions, int first,
                                  int count, int skipped) {
  constexpr int kParts = kRowBytes / 16, kRows = kThreads / kParts;
  static_assert(kRows % 8 == 0, "a thread's rows must be swizzled alike");
  const int part = static_cast<int>(threadIdx.x) % kParts;
  int row = static_cast<int>(threadIdx.x) / kParts;
  const auto* const start = static_cast<const unsigned char*>(map) + skipped + part * 16;
  auto position = static_cast<uint32_t>(first + row);  // beyond all of them where negative
  to += static_cast<uint32_t>(swizzled<kRowBytes>(row, part));
#pragma unroll 4
  for (; row < count; row += kRows) {
    const bool there = position < positions;
    copy_async(to, start + (there ? uint64_t{position} * kPitchBytes : 0), there);
    position += kRows;
    to += kRows * kRowBytes;
  }
}

__device__ inline void clear_zeros(uint32_t at) {
  if (threadIdx.x < kZeroBytes / 4) {
    asm volatile("st.shared.u32 [%0], %1;\n" ::"r"(at + 4 * threadIdx.x), "r"(0) : "memory");
  }
}

inline void check_fits(const NarrowConvArgs& args) {
  if (narrow_conv_fits(args.map, kFilters, args.block_memory)) return;
  throw Error(core::cat("narrow convolution: map of ", args.map.batch, "x", args.map.height, "x",
                        args.map.width, "x", args.map.channels,
                        ": not what the kernels take; use at::conv2d"));
}

}  // namespace adagp::cuda::narrow_conv

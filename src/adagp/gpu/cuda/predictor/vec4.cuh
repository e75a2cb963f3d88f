#pragma once
// Four consecutive elements of a row. A row may be of any length and begin anywhere: where all rows
// of an array begin at a multiple of four elements (`vector`), a quad is one access, and it is
// valid as a whole or not at all; else element by element. `valid`: how many of the four are in the
// row, or more, or <= 0.

#include <cstdint>

#include <cuda_runtime.h>

#include "adagp/gpu/cuda/mma.cuh"
#include "adagp/gpu/cuda/predictor/quads.h"

namespace adagp::cuda {

// .cs: read once and written once in a step, so it should not drive anything else out of L2.
__device__ inline void load_quad(float (&to)[4], const float* from, int valid, bool vector) {
  if (vector && valid > 0) {
    const float4 all = __ldcs(reinterpret_cast<const float4*>(from));
    to[0] = all.x, to[1] = all.y, to[2] = all.z, to[3] = all.w;
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) to[i] = i < valid ? __ldcs(from + i) : 0.0F;
}

__device__ inline void store_quad(float* to, const float (&from)[4], int valid, bool vector) {
  if (vector && valid > 0) {
    __stcs(reinterpret_cast<float4*>(to), make_float4(from[0], from[1], from[2], from[3]));
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (i < valid) __stcs(to + i, from[i]);
  }
}

// As bf16; these stay in L2 if they can: the next forward pass reads them.
__device__ inline void store_low_quad(uint16_t* to, const float (&from)[4], int valid,
                                      bool vector) {
  const uint2 all = make_uint2(pack_low(from[0], from[1]), pack_low(from[2], from[3]));
  if (vector && valid > 0) {
    *reinterpret_cast<uint2*>(to) = all;
    return;
  }
  if (valid > 0) to[0] = static_cast<uint16_t>(all.x);
  if (valid > 1) to[1] = static_cast<uint16_t>(all.x >> 16);
  if (valid > 2) to[2] = static_cast<uint16_t>(all.y);
  if (valid > 3) to[3] = static_cast<uint16_t>(all.y >> 16);
}

}  // namespace adagp::cuda

#pragma once
// Where fc's tiles begin in the line of the products' chunks. Whole warps call these.

#include "adagp/gpu/cuda/blocks.cuh"
#include "adagp/gpu/cuda/predictor/train_plan.h"

namespace adagp::cuda {

// The chunks of all tiles before `tile`.
template <typename Table>
__device__ inline int line_before(const Table& table, int tile) {
  int chunks = 0;
  for (int l = static_cast<int>(threadIdx.x % 32); l < table.count; l += 32) {
    chunks += chunks_before(table.layer[l], tile);
  }
  return warp_sum(chunks);
}

// The tile of a chunk. Only the last tiles have none.
template <typename Table>
__device__ inline int tile_at(const Table& table, int tiles, int chunk) {
  int low = 0, high = tiles;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (line_before(table, middle) <= chunk) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace adagp::cuda

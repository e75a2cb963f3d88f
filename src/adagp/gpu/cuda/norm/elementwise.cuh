#pragma once
// Kernels that read and write a map once, without sums: a thread keeps its channels and their
// parameters and walks over positions.

#include <algorithm>

#include "adagp/gpu/cuda/norm/vector.cuh"

namespace adagp::cuda::norm {

// Positions from the last to the first: the kernel before went forwards, so what it touched last is
// still in the second-level cache.
struct Walk {
  plan::Tiling tiling;
  uint32_t positions = 0;
};

inline Walk walk_over(const Map& map, bool pool) {
  return {plan::tiling(map.channels, plan::kMapWidth),
          static_cast<uint32_t>(pool ? map.positions() / 4 : map.positions())};
}

// Blocks of threads that take `at_once` positions in a step.
inline dim3 grid_of(const Walk& walk, int at_once) {
  constexpr int64_t kMostBlocks = 16 * 132;
  const int64_t step = int64_t{walk.tiling.rows} * at_once;
  const int64_t blocks = std::min(kMostBlocks, (walk.positions + step - 1) / step);
  return dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(walk.tiling.tiles));
}

// kAtOnce positions of a thread. All of them can be read; those behind the map's end (of which
// kFull promises none: a branch between loads would make them wait for one another) are not
// written.
template <int kAtOnce, bool kFull>
struct Places {
  uint32_t positions, first, rows;
  __device__ bool valid(int i) const { return kFull || first + i * rows < positions; }
  __device__ uint32_t operator[](int i) const {
    return valid(i) ? positions - 1 - (first + i * rows) : 0;
  }
};

// Calls step(Places) until all of a thread's positions are done.
template <int kAtOnce, typename Step>
__device__ void walk(const Walk& w, const Lane& lane, const Step& step) {
  const auto rows = static_cast<uint32_t>(w.tiling.rows);
  const uint32_t stride = gridDim.x * rows * kAtOnce;
  uint32_t q = blockIdx.x * rows * kAtOnce + lane.row;
  for (; q + (kAtOnce - 1) * rows < w.positions; q += stride) {
    step(Places<kAtOnce, true>{w.positions, q, rows});
  }
  if (kAtOnce > 1 && q < w.positions) step(Places<kAtOnce, false>{w.positions, q, rows});
}

// The four positions of a 2x2 window, in the order of rows. Maps with even sides: the rows of
// windows of all images lie one after the other, each under two rows of pixels.
struct Quad {
  uint32_t position[4];
};
__device__ inline Quad quad_of(uint32_t pooled, const plan::Divider& pooled_width) {
  const uint32_t line = quotient(pooled, pooled_width), width = 2 * pooled_width.divisor;
  const uint32_t first = 2 * line * width + 2 * (pooled - line * pooled_width.divisor);
  return {{first, first + 1, first + width, first + width + 1}};
}

}  // namespace adagp::cuda::norm

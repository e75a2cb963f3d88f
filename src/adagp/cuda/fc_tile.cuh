#pragma once
// features . fc^T for a block of kBlockRows filters x kTileCols weights of one layer, with all of
// fc's tile in shared memory; the filters pass in steps of kTileRows.
//
// Eight warps, each 32 filters x 32 weights of a step. The columns of the tile are dealt out to the
// tensor cores' fragments so that a lane ends with quads of consecutive columns (column_of_slot).

#include <cstdint>

#include "adagp/cuda/mma.cuh"
#include "adagp/cuda/predictor.h"

namespace adagp::cuda::fc {

constexpr int kThreads = 256;
constexpr int kTileRows = 64, kTileCols = 128;
constexpr int kSteps = 1, kBlockRows = kSteps * kTileRows;
constexpr int kRowBytes = 2 * kFeatures, kRowChunks = kRowBytes / 16;
constexpr int kSharedBytes = (kTileRows + kTileCols) * kRowBytes;
constexpr int kQuads = 8;  // of a lane in a step

inline int64_t blocks_of(int64_t rows, int64_t cols) {
  return ((rows + kBlockRows - 1) / kBlockRows) * ((cols + kTileCols - 1) / kTileCols);
}

// The block's part of the layer's [rows, cols].
struct Part {
  int row = 0, col = 0;    // its first
  int rows = 0, cols = 0;  // of the layer
};
__device__ inline Part part_of(int block, int rows, int cols) {
  const int across = (cols + kTileCols - 1) / kTileCols;
  return {block / across * kBlockRows, block % across * kTileCols, rows, cols};
}

// A lane's quad i of a step: four columns from `col` of `row`, both within the tile.
struct Quad {
  int row, col;
};
__device__ inline Quad quad_at(int i) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  return {32 * (warp / 4) + lane / 4 + 8 * (i / 2),
          32 * (warp % 4) + 4 * (lane % 4) + 16 * (i % 2)};
}

struct Sums {
  float part[2][4][4] = {};  // [16 rows][8 slots][fragment]

  __device__ void quad(int i, float (&to)[4]) const {
    const int rows = i / 4, half = 2 * (i / 2 % 2), slots = 2 * (i % 2);
    to[0] = part[rows][slots][half];
    to[1] = part[rows][slots][half + 1];
    to[2] = part[rows][slots + 1][half];
    to[3] = part[rows][slots + 1][half + 1];
  }
};

// Shared rows of fc are in the order of the fragments' columns. A lane's columns of two fragments
// side by side, 2q, 2q+1 and 8+2q, 8+2q+1, hold the tile's columns 4q .. 4q+3.
__device__ inline int column_of_slot(int slot) {
  const int column = slot % 8, fragment = slot / 8 % 2;
  return slot / 16 * 16 + column / 2 * 4 + fragment * 2 + column % 2;
}

// Eight rows at the same chunk lie in eight different groups of banks.
__device__ inline uint32_t place(int row, int chunk) {
  return static_cast<uint32_t>(row * kRowBytes + ((chunk ^ (row % 8)) * 16));
}

// One half of the features (k) of the rows; rows beyond the layer are zeros.
__device__ inline void copy_features(uint32_t to, const uint16_t* features, int row, int rows,
                                     int half) {
#pragma unroll 1  // its addresses side by side would not leave registers for the caller's values
  for (int i = static_cast<int>(threadIdx.x); i < kTileRows * kRowChunks / 2; i += kThreads) {
    const int r = i / (kRowChunks / 2), chunk = half * (kRowChunks / 2) + i % (kRowChunks / 2);
    const int from = min(row + r, rows - 1);
    copy_async(to + place(r, chunk), features + static_cast<int64_t>(from) * kFeatures + 8 * chunk,
               row + r < rows);
  }
}
__device__ inline void copy_weights(uint32_t to, const uint16_t* weights, int col, int cols,
                                    int half) {
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x); i < kTileCols * kRowChunks / 2; i += kThreads) {
    const int slot = i / (kRowChunks / 2), chunk = half * (kRowChunks / 2) + i % (kRowChunks / 2);
    const int wanted = col + column_of_slot(slot), from = min(wanted, cols - 1);
    copy_async(to + place(slot, chunk),
               weights + static_cast<int64_t>(from) * kFeatures + 8 * chunk, wanted < cols);
  }
}

// Addresses of a lane's matrices at k = 0; k moves by exclusive or, because place() is one.
struct Lanes {
  uint32_t features, weights;
};
__device__ inline Lanes lanes_of(uint32_t features, uint32_t weights) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  return {features + place(32 * (warp / 4) + lane % 16, lane / 16),
          weights + place(32 * (warp % 4) + lane % 8 + lane / 16 * 8, lane / 8 % 2)};
}

template <int kHalf>
__device__ inline void multiply_half(Sums& sums, const Lanes& lanes) {
#pragma unroll
  for (int k = kHalf * kFeatures / 2; k < (kHalf + 1) * kFeatures / 2; k += 16) {
    uint32_t a[2][4], b[4];
    const auto along = static_cast<uint32_t>(2 * k);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      load_matrices(a[i], (lanes.features ^ along) + i * 16 * kRowBytes);
    }
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      load_matrices(b, (lanes.weights ^ along) + j * 16 * kRowBytes);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        multiply_add(sums.part[i][2 * j], a[i], b[0], b[1]);
        multiply_add(sums.part[i][2 * j + 1], a[i], b[2], b[3]);
      }
    }
  }
}

// For each step of the block: before(row), then after(row, sums) with `row` the step's first row in
// the layer. `features` begins at the layer's first filter. What `before` reads from memory is
// under way while the products are made.
template <typename Before, typename After>
__device__ inline void for_steps(const Part& part, const uint16_t* features,
                                 const uint16_t* weights, Before&& before, After&& after) {
  const uint32_t a = shared_address(shared_memory()), b = a + kTileRows * kRowBytes;
  const Lanes lanes = lanes_of(a, b);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    copy_features(a, features, part.row, part.rows, half);
    copy_weights(b, weights, part.col, part.cols, half);
    copy_commit();
  }
  const int end = min(part.row + kBlockRows, part.rows);
#pragma unroll 1
  for (int row = part.row; row < end; row += kTileRows) {
    before(row);
    Sums sums;
    copy_wait<1>();
    __syncthreads();
    multiply_half<0>(sums, lanes);
    copy_wait<0>();
    __syncthreads();
    multiply_half<1>(sums, lanes);
    if (row + kTileRows < end) {
      __syncthreads();  // all are done with these features
      for (int half = 0; half < 2; ++half) {
        copy_features(a, features, row + kTileRows, part.rows, half);
        copy_commit();
      }
    }
    after(row, sums);
  }
}

}  // namespace adagp::cuda::fc

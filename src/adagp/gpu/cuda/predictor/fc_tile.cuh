#pragma once
// features . fc^T of all layers, tile by tile, with something to do for every tile.
//
// A step is kRows filters x Tile::kCols weights of one layer. A block has a run of consecutive
// steps: down the filters first, so that fc's tile stays in shared memory until the columns change.
// While a step is multiplied and used, the features of the next ones and what else these read are
// on their way to shared memory: the memory always has something to do. (Not to registers: a wait
// for the present step's values would be one for the next step's, too.)
//
// Eight warps, 2 x 4, each 16 filters x Tile::kCols / 4 weights of a step. The columns of the tile
// are dealt out to the tensor cores' fragments so that a lane ends with quads of consecutive
// columns (column_of_slot).

#include <cstdint>

#include "adagp/gpu/cuda/blocks.cuh"
#include "adagp/gpu/cuda/launch.cuh"
#include "adagp/gpu/cuda/mma.cuh"
#include "adagp/gpu/cuda/predictor/predictor.h"

namespace adagp::cuda::fc {

constexpr int kThreads = 256, kRows = 32;
constexpr int kRowBytes = 2 * kFeatures;
constexpr int kFeatureBytes = kRows * kRowBytes;
constexpr int kQuadBytes = 16;  // of a lane's quad of four floats, in its own places
static_assert(kRowBytes == 32 * 16 && kThreads / 32 == 8, "a warp copies a row, eight warps eight");

// `arrays`: of four floats per quad that the caller reads along with a step. Two blocks share a
// multiprocessor. (128 columns, three stages and one block there were 5 % slower on an H200.)
struct Tile {
  static constexpr int kCols = 64;
  static constexpr int kStages = 2;  // steps in shared memory, with the present one
  static constexpr int kMostBlocks = 264;
  static constexpr int kGroups = kCols / 64;  // of 16 columns that a warp has
  static constexpr int kQuads = 2 * kGroups;  // of a lane in a step
  static constexpr int kWeightBytes = kCols * kRowBytes;

  static constexpr int kArrayBytes = kQuads * kThreads * kQuadBytes;
  static constexpr int stage_bytes(int arrays) { return kFeatureBytes + arrays * kArrayBytes; }
  static constexpr int shared_bytes(int arrays) {
    return kWeightBytes + kStages * stage_bytes(arrays);
  }
};
static_assert(Tile::shared_bytes(2) <= 98 * 1024, "more than some GPUs have");

// What the products need of the net.
struct Net {
  const uint16_t *features, *weights;
  const float* bias;
};

inline int64_t steps_of(int64_t rows, int64_t cols) {
  return ((rows + kRows - 1) / kRows) * ((cols + Tile::kCols - 1) / Tile::kCols);
}
inline int64_t blocks_of(int64_t steps) {
  return steps < Tile::kMostBlocks ? steps : Tile::kMostBlocks;
}

// The step's first row and column in its layer.
struct Step {
  int layer, row, col;
};
template <typename Table>
__device__ inline Step step_at(const Table& table, int index) {
  const int l = find_range(table.offset, table.count, index);
  const int down = (table.layer[l].rows + kRows - 1) / kRows;
  const int inside = index - table.offset[l];
  return {l, inside % down * kRows, inside / down * Tile::kCols};
}
template <typename Table>
__device__ inline Step step_after(const Table& table, const Step& step) {
  if (step.row + kRows < table.layer[step.layer].rows) {
    return {step.layer, step.row + kRows, step.col};
  }
  if (step.col + Tile::kCols < table.layer[step.layer].cols) {
    return {step.layer, 0, step.col + Tile::kCols};
  }
  return {step.layer + 1, 0, 0};
}

// A lane's quad i of a step: four columns from `col` of `row`, both within the tile.
struct Quad {
  int row, col;
};
__device__ inline Quad quad_at(int i) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  return {16 * (warp / 4) + lane / 4 + 8 * (i / Tile::kGroups),
          16 * Tile::kGroups * (warp % 4) + 4 * (lane % 4) + 16 * (i % Tile::kGroups)};
}

struct Sums {
  float part[2 * Tile::kGroups][4] = {};  // [8 slots][fragment]

  __device__ void quad(int i, float (&to)[4]) const {
    const int half = 2 * (i / Tile::kGroups), slots = 2 * (i % Tile::kGroups);
    to[0] = part[slots][half];
    to[1] = part[slots][half + 1];
    to[2] = part[slots + 1][half];
    to[3] = part[slots + 1][half + 1];
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

// Rows of features from `row` on; rows beyond the layer are zeros. `features` begins at the layer's
// first filter.
__device__ inline void copy_features(uint32_t to, const uint16_t* features, int row, int rows) {
  const int chunk = static_cast<int>(threadIdx.x % 32), first = static_cast<int>(threadIdx.x / 32);
#pragma unroll
  for (int i = 0; i < kRows / 8; ++i) {
    const int r = first + 8 * i;
    const bool valid = row + r < rows;
    const int64_t at = static_cast<int64_t>(valid ? row + r : row) * kFeatures + 8 * chunk;
    copy_async(to + place(r, chunk), features + at, valid);
  }
}
__device__ inline void copy_weights(uint32_t to, const uint16_t* weights, int col, int cols) {
  const int chunk = static_cast<int>(threadIdx.x % 32), first = static_cast<int>(threadIdx.x / 32);
#pragma unroll 8
  for (int i = 0; i < Tile::kCols / 8; ++i) {
    const int slot = first + 8 * i, wanted = col + column_of_slot(slot);
    const bool valid = wanted < cols;
    const int64_t at = static_cast<int64_t>(valid ? wanted : col) * kFeatures + 8 * chunk;
    copy_async(to + place(slot, chunk), weights + at, valid);
  }
}

// Addresses of a lane's matrices at k = 0; k moves by exclusive or, because place() is one.
struct Lanes {
  uint32_t features, weights;
};
__device__ inline Lanes lanes_of(uint32_t weights) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int column = 16 * Tile::kGroups * (warp % 4);
  return {place(16 * (warp / 4) + lane % 16, lane / 16),
          weights + place(column + lane % 8 + lane / 16 * 8, lane / 8 % 2)};
}

__device__ inline void multiply(Sums& sums, const Lanes& lanes, uint32_t features) {
#pragma unroll
  for (int k = 0; k < kFeatures; k += 16) {
    uint32_t a[4], b[4];
    const auto along = static_cast<uint32_t>(2 * k);
    load_matrices(a, features + (lanes.features ^ along));
#pragma unroll
    for (int j = 0; j < Tile::kGroups; ++j) {
      load_matrices(b, (lanes.weights ^ along) + j * 16 * kRowBytes);
      multiply_add(sums.part[2 * j], a, b[0], b[1]);
      multiply_add(sums.part[2 * j + 1], a, b[2], b[3]);
    }
  }
}

}  // namespace adagp::cuda::fc

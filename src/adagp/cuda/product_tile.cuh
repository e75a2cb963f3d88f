#pragma once
// sum over k of a[m, k] * b[k, n] for 64 m x all 256 n, where b's rows are features or fc's weights
// as they lie in memory and a is a piece of E: its rows are m (kTransposed: k).
//
// A chunk of 32 k is a stage in shared memory; copies run kStages - 1 chunks ahead. Eight warps,
// each 32 m x 64 n.

#include <cstdint>

#include "adagp/cuda/mma.cuh"
#include "adagp/cuda/predictor.h"
#include "adagp/cuda/train_plan.h"

namespace adagp::cuda::product {

constexpr int kThreads = 256, kStages = 4;
constexpr int kRowBytes = 2 * kFeatures;
constexpr int kErrorsAt = kChunk * kRowBytes;  // in a stage, behind b
constexpr int kStageBytes = kErrorsAt + 2 * kChunk * kProductRows;
constexpr int kSharedBytes = kStages * kStageBytes;

// Where 16 bytes of a stage are, so that eight rows at the same place along them are in different
// banks. Rows of b are 32 such pieces long, those of E 4 (64 rows), transposed 8 (32 rows).
__device__ inline uint32_t place_b(int row, int piece) {
  return static_cast<uint32_t>(row * kRowBytes + ((piece ^ (row % 8)) * 16));
}
template <bool kTransposed>
__device__ inline uint32_t place_error(int row, int piece) {
  const int at = kTransposed ? row * 128 + ((piece ^ (row % 8)) * 16)
                             : row * 64 + ((piece ^ (row / 2 % 4)) * 16);
  return static_cast<uint32_t>(kErrorsAt + at);
}

// Row r of b is from + r * 256, for r < rows; zeros behind.
__device__ inline void copy_b(uint32_t stage, const uint16_t* from, int rows) {
#pragma unroll
  for (int i = 0; i < kChunk * 32 / kThreads; ++i) {
    const int row = static_cast<int>(threadIdx.x / 32) + i * (kThreads / 32);
    const int piece = static_cast<int>(threadIdx.x % 32);
    copy_async(stage + place_b(row, piece), from + min(row, rows - 1) * kFeatures + 8 * piece,
               row < rows);
  }
}

// The piece of E at `from`, whose rows are `stride` elements long; `rows` and `cols` of it exist.
template <bool kTransposed>
__device__ inline void copy_error(uint32_t stage, const uint16_t* from, int stride, int rows,
                                  int cols) {
  constexpr int kPieces = kTransposed ? 8 : 4;  // of a row: one copy per thread
  const int row = static_cast<int>(threadIdx.x) / kPieces;
  const int piece = static_cast<int>(threadIdx.x) % kPieces;
  const bool valid = row < rows && 8 * piece < cols;
  copy_async(stage + place_error<kTransposed>(row, piece),
             from + (valid ? static_cast<int64_t>(row) * stride + 8 * piece : 0), valid);
}

struct Sums {
  float part[2][8][4] = {};  // [16 m][8 n][fragment]

  __device__ void scale(float by) {
#pragma unroll
    for (int i = 0; i < 2 * 8 * 4; ++i) part[i / 32][i / 4 % 8][i % 4] *= by;
  }
};

// Addresses of a lane's matrices in a stage, at k = 0.
struct Lanes {
  uint32_t error, b;
};
template <bool kTransposed>
__device__ inline Lanes lanes_of() {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int m = 32 * (warp / 4), n = 64 * (warp % 4);
  const uint32_t error = kTransposed
                             ? place_error<true>(lane % 8 + lane / 16 * 8, m / 8 + lane / 8 % 2)
                             : place_error<false>(m + lane % 16, lane / 16);
  return {error, place_b(lane % 16, n / 8 + lane / 16)};
}

// One stage. Along rows an address moves by adding, along pieces by exclusive or.
template <bool kTransposed>
__device__ inline void multiply(Sums& sums, const Lanes& lanes, uint32_t stage) {
  const uint32_t error = stage + lanes.error, b_at = stage + lanes.b;
#pragma unroll
  for (int k = 0; k < kChunk / 16; ++k) {
    uint32_t a[2][4], b[4];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (kTransposed) {
        load_matrices_transposed(a[i], (error ^ (i * 32U)) + k * 16 * 128);
      } else {
        load_matrices(a[i], (error ^ (k * 32U)) + i * 16 * 64);
      }
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      load_matrices_transposed(b, (b_at ^ (j * 32U)) + k * 16 * kRowBytes);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        multiply_add(sums.part[i][2 * j], a[i], b[0], b[1]);
        multiply_add(sums.part[i][2 * j + 1], a[i], b[2], b[3]);
      }
    }
  }
}

// share * sums to rows of 256 floats, the first `rows` of them.
__device__ inline void store(float* to, const Sums& sums, float share, int rows) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = 32 * (warp / 4) + 8 * i + lane / 4;
    if (row >= rows) continue;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float(&part)[4] = sums.part[i / 2][j];
      const int col = 64 * (warp % 4) + 8 * j + 2 * (lane % 4);
      *reinterpret_cast<float2*>(to + row * kFeatures + col) =
          make_float2(share * part[i % 2 * 2], share * part[i % 2 * 2 + 1]);
    }
  }
}

// Calls load(stage) for `chunks` chunks in their order and, as each arrives, use(stage).
template <typename Load, typename Use>
__device__ inline void for_chunks(int chunks, Load&& load, Use&& use) {
  const uint32_t stages = shared_address(shared_memory());
#pragma unroll 1
  for (int i = 0; i < kStages - 1; ++i) {
    if (i < chunks) load(stages + i * kStageBytes);
    copy_commit();  // an empty group where nothing is left, so that the count holds
  }
#pragma unroll 1
  for (int i = 0; i < chunks; ++i) {
    copy_wait<kStages - 2>();
    __syncthreads();  // the chunk is there for all, and all are done with the one before
    const int ahead = i + kStages - 1;
    if (ahead < chunks) load(stages + ahead % kStages * kStageBytes);
    copy_commit();
    use(stages + i % kStages * kStageBytes);
  }
}

}  // namespace adagp::cuda::product

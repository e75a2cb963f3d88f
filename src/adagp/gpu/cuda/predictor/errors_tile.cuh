#pragma once
// predictor_train: 128 rows of a layer's E, chunk by chunk, and their part of the features'
// gradient. Device code of train_errors.cu.
//
// Each of a block's eight warps has 16 rows and keeps the gradient of their features in registers.
// A chunk of fc, once in shared memory, serves two products: first with the features, which gives E
// in just those registers from which the second product reads it.

#include "adagp/gpu/cuda/predictor/fc_tile.cuh"
#include "adagp/gpu/cuda/predictor/stages.cuh"
#include "adagp/gpu/cuda/predictor/tile_products.cuh"
#include "adagp/gpu/cuda/predictor/train_plan.h"
#include "adagp/gpu/cuda/predictor/vec4.cuh"

namespace adagp::cuda::errors {

constexpr int kThreads = 256, kGroupRows = 64;
constexpr int kFeatureBlock = kErrorRows * tile::kRowBytes;  // 64 features of all rows
constexpr int kFeatureBytes = 4 * kFeatureBlock;
static_assert(kErrorRows == kThreads / 32 * 16, "16 rows a warp");

// Shared memory: the features, then stages of kCols columns of fc with their biases.
template <int kTheCols, int kStages, int kTheLag>
struct Layout {
  static constexpr int kCols = kTheCols, kLag = kTheLag;
  static constexpr int kBlock = kCols * tile::kRowBytes;
  static constexpr int kBiasAt = 4 * kBlock;
  static constexpr int kStageBytes = kBiasAt + 1024;
  static constexpr int kBytes = kFeatureBytes + kStages * kStageBytes;
  static constexpr int kSteps = kCols / 16;
  using Ring = Stages<kStages, kLag, kStageBytes>;
};
using Large = Layout<kErrorCols, 4, 1>;
using Small = Layout<kErrorCols / 2, 2, 0>;
static_assert(Small::kBytes + tile::kStaticBytes <= tile::kLeastMemory);

// A lane's columns of each 16: four from here on.
__device__ inline int own_col() {
  return static_cast<int>(4 * (threadIdx.x % 4));
}

// The features of 128 rows, `rows` of which exist.
__device__ inline void copy_features(uint32_t to, const uint16_t* from, int rows) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const uint32_t first = to + tile::place_wide(warp, lane, kFeatureBlock);
#pragma unroll 4
  for (int i = 0; i < kErrorRows / 8; ++i) {
    const int row = warp + 8 * i;
    copy_async(first + i * tile::kEightRows,
               from + static_cast<int64_t>(min(row, rows - 1)) * kFeatures + 8 * lane, row < rows);
  }
}

// Columns of fc to a stage, in the order of the fragments' columns, and their biases.
template <typename Layout>
__device__ inline void copy_columns(uint32_t stage, const fc::Net& net, int col, int cols) {
  const int tid = static_cast<int>(threadIdx.x), lane = tid % 32, warp = tid / 32;
  const uint32_t to = stage + tile::place_wide(warp, lane, Layout::kBlock);
  const int first = col + fc::column_of_slot(warp);
  const uint16_t* from = net.weights + static_cast<int64_t>(first) * kFeatures + 8 * lane;
#pragma unroll
  for (int i = 0; i < Layout::kCols / 8; ++i) {  // slot warp + 8 * i
    const int further = fc::column_of_slot(8 * i);
    const bool valid = first + further < cols;
    copy_async(to + i * tile::kEightRows, valid ? from + further * kFeatures : net.weights, valid);
  }
  if (tid < Layout::kCols) {
    const bool valid = col + tid < cols;
    copy_async_word(stage + Layout::kBiasAt + 4 * tid, net.bias + (valid ? col + tid : 0), valid);
  }
}

// A lane's gradients of a chunk, as bf16: [16 columns][row, eighth row behind].
template <int kSteps>
struct Quads {
  uint2 quad[kSteps][2];
};

// Quads of bf16 can be asked for ahead.
__device__ inline bool asks_ahead(const TrainLayer& layer) {
  return layer.quads && !layer.is_float;
}
// Brings 64 columns to L2: a line for each row of the tile, which begins at `top`.
__device__ inline void prefetch_columns(const TrainLayer& layer, int top, int col) {
  const int row = top + static_cast<int>(threadIdx.x);
  if (threadIdx.x >= kErrorRows || row >= layer.rows || col >= layer.cols) return;
  prefetch(static_cast<const uint16_t*>(layer.gradient) + static_cast<int64_t>(row) * layer.cols +
           col);
}

// A lane's two rows: their gradients and errors.
struct Rows {
  const TrainLayer& layer;
  int row;        // of the lane
  int64_t first;  // element of it
  uint16_t* to;   // its errors

  __device__ int valid(int half, int col) const {
    return row + 8 * half < layer.rows ? layer.cols - col : 0;
  }
  __device__ int64_t at(int half, int col) const { return first + (8 * half * layer.cols + col); }

  // On their way to registers while the tensor cores work.
  template <int kSteps>
  __device__ void ask(Quads<kSteps>& to, int col) const {
#pragma unroll
    for (int h = 0; h < kSteps; ++h) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const bool inside = valid(half, col + 16 * h) > 0;
        const auto* from = static_cast<const uint16_t*>(layer.gradient);
        to.quad[h][half] =
            inside ? *reinterpret_cast<const uint2*>(from + at(half, col + 16 * h)) : uint2{};
      }
    }
  }
  // For gradients without quads of bf16.
  __device__ void get(float (&to)[4], int half, int col) const {
    const int inside = valid(half, col);
    if (layer.is_float) {
      load_quad(to, static_cast<const float*>(layer.gradient) + at(half, col), inside, layer.quads);
      return;
    }
    const auto* from = static_cast<const uint16_t*>(layer.gradient) + at(half, col);
#pragma unroll
    for (int j = 0; j < 4; ++j) to[j] = j < inside ? first_low(from[j]) : 0.0F;
  }
};

// The two products of a group of warps with one stage, and its errors.
template <typename Layout, bool kQuads>
struct Products {
  float sums[kFeatures / 8][4] = {};       // gradient of the features: [8 features][fragment]
  float loss = 0;                          // sum of squares
  uint32_t error[Layout::kSteps][4] = {};  // of the last chunk, which `stage` has
  uint32_t stage = 0;

  __device__ void begin_second() {
    tile::begin_multiply_add_rows(sums, error, {stage, Layout::kBlock});
  }

  // With a lag the second product of a chunk begins behind the first one of the next, and runs
  // while the errors of that one are finished.
  __device__ void use(const tile::Wide& features, const Rows& rows, int col, float inverse,
                      uint32_t now) {
    constexpr int kSteps = Layout::kSteps;
    Quads<kSteps> asked;
    if constexpr (kQuads) rows.ask(asked, col + own_col());
    float predicted[2 * kSteps][4];  // [8 columns][fragment]
    tile::begin_multiply_rows<Layout::kCols>(predicted, features, {now, Layout::kBlock});
    if (Layout::kLag > 0 && stage != 0) {
      begin_second();
      tile::wait_for_products<1>();
    } else {
      tile::wait_for_products<0>();
    }
    tile::hold(predicted);

    uint32_t fresh[kSteps][4];
#pragma unroll
    for (int h = 0; h < kSteps; ++h) {
      const uint4 words = load_shared_quad(now + Layout::kBiasAt + 4 * (16 * h + own_col()));
      const float bias[4] = {__uint_as_float(words.x), __uint_as_float(words.y),
                             __uint_as_float(words.z), __uint_as_float(words.w)};
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float values[4] = {predicted[2 * h][2 * half], predicted[2 * h][2 * half + 1],
                                 predicted[2 * h + 1][2 * half],
                                 predicted[2 * h + 1][2 * half + 1]};
        const uint2 low = finish(values, bias, asked.quad[h][half], rows, half,
                                 col + 16 * h + own_col(), inverse);
        fresh[h][half] = low.x;
        fresh[h][2 + half] = low.y;
      }
    }
    tile::wait_for_products<0>();
    tile::hold(error);
    tile::hold(sums);
#pragma unroll
    for (int i = 0; i < 4 * kSteps; ++i) error[i / 4][i % 4] = fresh[i / 4][i % 4];
    stage = now;
    if (Layout::kLag == 0) end();
  }

  // Runs the second product of the last chunk, and waits for it.
  __device__ void end() {
    begin_second();
    tile::wait_for_products<0>();
    tile::hold(error);
    tile::hold(sums);
  }

  // Four errors of a row: to memory, into the loss, and rounded to the caller.
  __device__ uint2 finish(const float (&predicted)[4], const float (&bias)[4], const uint2& asked,
                          const Rows& rows, int half, int col, float inverse) {
    const TrainLayer& layer = rows.layer;
    const int inside = rows.valid(half, col);
    float gradient[4], error[4];
    if constexpr (kQuads) {
      gradient[0] = first_low(asked.x), gradient[1] = second_low(asked.x);
      gradient[2] = first_low(asked.y), gradient[3] = second_low(asked.y);
    } else {
      rows.get(gradient, half, col);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const bool valid = kQuads ? inside > 0 : j < inside;
      error[j] = valid ? predicted[j] + bias[j] - gradient[j] * inverse : 0.0F;
      loss += error[j] * error[j];
    }
    const uint2 low = make_uint2(pack_low(error[0], error[1]), pack_low(error[2], error[3]));
    if (rows.row + 8 * half < layer.rows && col < layer.error_cols) {
      *reinterpret_cast<uint2*>(rows.to + (8 * half * layer.error_cols + col)) = low;
    }
    return low;
  }
};

}  // namespace adagp::cuda::errors

// The first two launches of predictor_train: scales of the gradients, then the errors and the loss.

#include "adagp/cuda/blocks.cuh"
#include "adagp/cuda/fc_tile.cuh"
#include "adagp/cuda/launch.cuh"
#include "adagp/cuda/quads.cuh"
#include "adagp/cuda/train_plan.h"

namespace adagp::cuda {
namespace {

constexpr int kSquareThreads = 256;

__device__ inline float squared(float sum, uint32_t pair) {
  const float first = first_low(pair), second = second_low(pair);
  return sum + first * first + second * second;
}

// Of `count` elements, by the whole block, 16 bytes at a time where the array begins at such.
__device__ inline float squares_of(const float* from, int count) {
  const int tid = static_cast<int>(threadIdx.x);
  const bool aligned = reinterpret_cast<uintptr_t>(from) % 16 == 0;
  const int vectors = aligned ? count / 4 : 0;
  float sum = 0;
#pragma unroll 8
  for (int i = tid; i < vectors; i += kSquareThreads) {
    const float4 v = reinterpret_cast<const float4*>(from)[i];
    sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  for (int i = 4 * vectors + tid; i < count; i += kSquareThreads) sum += from[i] * from[i];
  return sum;
}
__device__ inline float squares_of(const uint16_t* from, int count) {
  const int tid = static_cast<int>(threadIdx.x);
  const bool aligned = reinterpret_cast<uintptr_t>(from) % 16 == 0;
  const int vectors = aligned ? count / 8 : 0;
  float sum = 0;
#pragma unroll 8
  for (int i = tid; i < vectors; i += kSquareThreads) {
    const uint4 v = reinterpret_cast<const uint4*>(from)[i];
    sum = squared(squared(squared(squared(sum, v.x), v.y), v.z), v.w);
  }
  for (int i = 8 * vectors + tid; i < count; i += kSquareThreads) {
    const float value = first_low(from[i]);
    sum += value * value;
  }
  return sum;
}

struct Scales {
  float *mean_square, *scale;
  const uint8_t* seen;
  float decay;
};

// A warp per layer.
__device__ inline void move_scales(const TrainTable& table, const float* squares,
                                   const Scales& scales) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int l = static_cast<int>(threadIdx.x / 32); l < table.count; l += kSquareThreads / 32) {
    double sum = 0;
    for (int i = table.offset[l] + lane; i < table.offset[l + 1]; i += 32) {
      sum += static_cast<double>(__ldcg(squares + i));
    }
    sum = warp_sum(sum);
    if (lane != 0) continue;
    const TrainLayer& layer = table.layer[l];
    const double count = static_cast<double>(layer.rows) * static_cast<double>(layer.cols);
    const auto now = static_cast<float>(sum / count);
    const float before = scales.mean_square[l];
    const float mean =
        *scales.seen != 0 ? scales.decay * before + (1.0F - scales.decay) * now : now;
    scales.mean_square[l] = mean;
    scales.scale[l] = sqrtf(mean + 1e-30F);
  }
}

__global__ void __launch_bounds__(kSquareThreads)
    squares_kernel(const __grid_constant__ TrainTable table, float* squares, uint32_t* counter,
                   Scales scales) {
  const int block = static_cast<int>(blockIdx.x);
  const int l = find_range(table.offset, table.count, block);
  const TrainLayer& layer = table.layer[l];
  const int64_t begin = static_cast<int64_t>(block - table.offset[l]) * kSquareChunk;
  const int64_t rest = static_cast<int64_t>(layer.rows) * layer.cols - begin;
  const int count = rest < kSquareChunk ? static_cast<int>(rest) : kSquareChunk;
  const float sum = layer.is_float
                        ? squares_of(static_cast<const float*>(layer.gradient) + begin, count)
                        : squares_of(static_cast<const uint16_t*>(layer.gradient) + begin, count);
  const float total = block_sum<kSquareThreads>(sum);
  if (threadIdx.x == 0) squares[block] = total;
  if (last_block(counter)) move_scales(table, squares, scales);
}

struct ErrorArgs {
  const uint16_t *features, *fc_low;
  const float *fc_bias, *scale;
  uint16_t* errors;
  float *losses, *loss;
  uint32_t* counter;
};

// Four gradients as they lie in memory; of bf16 only half of it. Converting them at once would
// mean to wait for them before the products.
struct RawQuad {
  uint32_t word[4];

  __device__ void load(const void* from, int64_t at, int valid, bool is_float, bool vector) {
    if (is_float) {
      float values[4];
      load_quad(values, static_cast<const float*>(from) + at, valid, vector);
      for (int i = 0; i < 4; ++i) word[i] = __float_as_uint(values[i]);
      return;
    }
    const auto* low = static_cast<const uint16_t*>(from) + at;
    if (vector && valid > 0) {
      const uint2 all = *reinterpret_cast<const uint2*>(low);
      word[0] = all.x, word[1] = all.y;
      return;
    }
    word[0] = (valid > 0 ? low[0] : 0U) | (valid > 1 ? static_cast<uint32_t>(low[1]) << 16 : 0U);
    word[1] = (valid > 2 ? low[2] : 0U) | (valid > 3 ? static_cast<uint32_t>(low[3]) << 16 : 0U);
  }
  __device__ void get(float (&to)[4], bool is_float) const {
    to[0] = is_float ? __uint_as_float(word[0]) : first_low(word[0]);
    to[1] = is_float ? __uint_as_float(word[1]) : second_low(word[0]);
    to[2] = is_float ? __uint_as_float(word[2]) : first_low(word[1]);
    to[3] = is_float ? __uint_as_float(word[3]) : second_low(word[1]);
  }
};

struct ErrorPart {
  const TrainLayer& layer;
  const ErrorArgs& args;
  fc::Part part;
  const float* bias;  // of the tile's columns, in shared memory
  float inverse;      // 1 / scale
  float squares;      // of this lane's errors
  RawQuad gradients[fc::kQuads];

  __device__ int valid(int row, const fc::Quad& quad) const {
    return row + quad.row < part.rows ? part.cols - part.col - quad.col : 0;
  }

  __device__ void ask(int row) {
#pragma unroll
    for (int i = 0; i < fc::kQuads; ++i) {
      const fc::Quad quad = fc::quad_at(i);
      const int64_t at = static_cast<int64_t>(row + quad.row) * part.cols + part.col + quad.col;
      gradients[i].load(layer.gradient, at, valid(row, quad), layer.is_float, layer.quads);
    }
  }

  __device__ void use(int row, const fc::Sums& sums) {
#pragma unroll
    for (int i = 0; i < fc::kQuads; ++i) {
      const fc::Quad quad = fc::quad_at(i);
      const int inside = valid(row, quad), col = part.col + quad.col;
      if (row + quad.row >= part.rows || col >= layer.error_cols) continue;
      float error[4], gradient[4];
      sums.quad(i, error);
      gradients[i].get(gradient, layer.is_float);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        error[j] = j < inside ? error[j] + bias[quad.col + j] - gradient[j] * inverse : 0.0F;
        squares += error[j] * error[j];
      }
      uint16_t* to =
          args.errors + layer.error + static_cast<int64_t>(row + quad.row) * layer.error_cols + col;
      *reinterpret_cast<uint2*>(to) =
          make_uint2(pack_low(error[0], error[1]), pack_low(error[2], error[3]));
    }
  }
};

__global__ void __launch_bounds__(fc::kThreads, 2)
    errors_kernel(const __grid_constant__ TrainTable table,
                  const __grid_constant__ ErrorArgs args) {
  const int block = static_cast<int>(blockIdx.x);
  const int l = find_range(table.offset, table.count, block);
  const TrainLayer& layer = table.layer[l];
  const fc::Part part = fc::part_of(block - table.offset[l], layer.rows, layer.cols);
  // Seen by all after the barriers of for_steps().
  __shared__ float bias[fc::kTileCols];
  const int col = part.col + static_cast<int>(threadIdx.x);
  if (threadIdx.x < fc::kTileCols) bias[threadIdx.x] = col < part.cols ? args.fc_bias[col] : 0.0F;
  ErrorPart errors{layer, args, part, bias, 1.0F / args.scale[l], 0, {}};
  fc::for_steps(
      errors.part, args.features + static_cast<int64_t>(layer.first_row) * kFeatures, args.fc_low,
      [&](int row) { errors.ask(row); },
      [&](int row, const fc::Sums& sums) { errors.use(row, sums); });

  const float squares = block_sum<fc::kThreads>(errors.squares);
  if (threadIdx.x == 0) args.losses[block] = 0.5F * layer.share * squares;
  if (!last_block(args.counter)) return;
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < table.offset[table.count]; i += fc::kThreads) {
    sum += static_cast<double>(__ldcg(args.losses + i));
  }
  sum = block_sum<fc::kThreads>(sum);
  if (threadIdx.x == 0) *args.loss = static_cast<float>(sum);
}

}  // namespace

void train_squares(const TrainArgs& args, TrainPlan& plan, Stream stream) {
  const int64_t blocks = set_offsets(plan.table, [](const TrainLayer& layer) {
    return (static_cast<int64_t>(layer.rows) * layer.cols + kSquareChunk - 1) / kSquareChunk;
  });
  const Scales scales{args.net.mean_square, args.net.scale, args.seen, args.rms_decay};
  launch(squares_kernel, blocks, kSquareThreads, 0, stream, "predictor_train: squares", plan.table,
         plan.space.squares, plan.space.counters, scales);
}

void train_errors(const TrainArgs& args, TrainPlan& plan, Stream stream) {
  const int64_t blocks = set_offsets(
      plan.table, [](const TrainLayer& layer) { return fc::blocks_of(layer.rows, layer.cols); });
  ErrorArgs errors{};
  errors.features = static_cast<const uint16_t*>(args.features);
  errors.fc_low = static_cast<const uint16_t*>(args.net.fc_low);
  errors.fc_bias = args.net.fc_bias;
  errors.scale = args.net.scale;
  errors.errors = plan.space.errors;
  errors.losses = plan.space.losses;
  errors.loss = args.loss;
  errors.counter = plan.space.counters + 1;
  launch(errors_kernel, blocks, fc::kThreads, fc::kSharedBytes, stream, "predictor_train: errors",
         plan.table, errors);
}

}  // namespace adagp::cuda

// The first two launches of predictor_train: scales of the gradients, then the errors and the loss.

#include "adagp/cuda/blocks.cuh"
#include "adagp/cuda/fc_walk.cuh"
#include "adagp/cuda/launch.cuh"
#include "adagp/cuda/train_plan.h"
#include "adagp/cuda/vec4.cuh"

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
template <typename Table>
__device__ inline void move_scales(const Table& table, const float* squares, const Scales& scales) {
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

template <typename Table>
__global__ void __launch_bounds__(kSquareThreads)
    squares_kernel(const __grid_constant__ Table table, float* squares, uint32_t* counter,
                   Scales scales) {
  wait_for_before();
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
  fc::Net net;
  const float* scale;
  uint16_t* errors;
  float *losses, *loss;
  uint32_t* counter;
};

// Four gradients as they lie in memory; of bf16 only half of it.
struct RawQuad {
  uint4 word;

  __device__ void load(const void* from, int64_t at, int valid, bool is_float) {
    if (is_float) {
      float values[4];
      load_quad(values, static_cast<const float*>(from) + at, valid, false);
      word = make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]),
                        __float_as_uint(values[2]), __float_as_uint(values[3]));
      return;
    }
    const auto* low = static_cast<const uint16_t*>(from) + at;
    word.x = (valid > 0 ? low[0] : 0U) | (valid > 1 ? static_cast<uint32_t>(low[1]) << 16 : 0U);
    word.y = (valid > 2 ? low[2] : 0U) | (valid > 3 ? static_cast<uint32_t>(low[3]) << 16 : 0U);
  }
  __device__ void get(float (&to)[4], bool is_float) const {
    to[0] = is_float ? __uint_as_float(word.x) : first_low(word.x);
    to[1] = is_float ? __uint_as_float(word.y) : second_low(word.x);
    to[2] = is_float ? __uint_as_float(word.z) : first_low(word.y);
    to[3] = is_float ? __uint_as_float(word.w) : second_low(word.y);
  }
};

// What is done with every step. Gradients without quads are read when they are used.
template <typename Table>
struct Errors {
  static constexpr int kArrays = 1;

  const Table& table;
  const ErrorArgs& args;
  float loss = 0;  // this lane's part

  __device__ static int valid(const TrainLayer& layer, int row, int col) {
    return row < layer.rows ? layer.cols - col : 0;
  }

  __device__ void ask(const fc::Step& step, uint32_t own) const {
    const TrainLayer& layer = table.layer[step.layer];
    if (!layer.quads) return;
#pragma unroll
    for (int i = 0; i < fc::Tile::kQuads; ++i) {
      const fc::Quad quad = fc::quad_at(i);
      const int row = step.row + quad.row, col = step.col + quad.col;
      const bool inside = valid(layer, row, col) > 0;
      const int64_t at = inside ? static_cast<int64_t>(row) * layer.cols + col : 0;
      const uint32_t to = fc::own_quad(own, 0, i);
      if (layer.is_float) {
        copy_async(to, static_cast<const float*>(layer.gradient) + at, inside);
      } else {
        copy_async_half(to, static_cast<const uint16_t*>(layer.gradient) + at, inside);
      }
    }
  }

  __device__ void use(const fc::Step& step, const fc::Sums& sums, const float* bias, uint32_t own) {
    const TrainLayer& layer = table.layer[step.layer];
    const float inverse = 1.0F / args.scale[step.layer];
    float squares = 0;
#pragma unroll
    for (int i = 0; i < fc::Tile::kQuads; ++i) {
      const fc::Quad quad = fc::quad_at(i);
      const int row = step.row + quad.row, col = step.col + quad.col;
      if (row >= layer.rows || col >= layer.error_cols) continue;
      const int inside = valid(layer, row, col);
      RawQuad raw{};
      if (layer.quads) {
        raw.word = load_shared_quad(fc::own_quad(own, 0, i));
      } else {
        raw.load(layer.gradient, static_cast<int64_t>(row) * layer.cols + col, inside,
                 layer.is_float);
      }
      float error[4], gradient[4];
      sums.quad(i, error);
      raw.get(gradient, layer.is_float);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        error[j] = j < inside ? error[j] + bias[quad.col + j] - gradient[j] * inverse : 0.0F;
        squares += error[j] * error[j];
      }
      uint16_t* to = args.errors + layer.error + static_cast<int64_t>(row) * layer.error_cols + col;
      *reinterpret_cast<uint2*>(to) =
          make_uint2(pack_low(error[0], error[1]), pack_low(error[2], error[3]));
    }
    loss += 0.5F * layer.share * squares;
  }
};

template <typename Table>
__global__ void __launch_bounds__(fc::kThreads)
    errors_kernel(const __grid_constant__ Table table, const __grid_constant__ ErrorArgs args) {
  Errors<Table> errors{table, args};
  fc::for_steps(table, args.net, errors);

  const float part = block_sum<fc::kThreads>(errors.loss);
  if (threadIdx.x == 0) args.losses[blockIdx.x] = part;
  if (!last_block(args.counter)) return;
  double sum = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += fc::kThreads) {
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
  const Begin begin = args.behind_features ? Begin::kEarly : Begin::kAfter;
  with_smallest(plan.table, [&]<typename Table>(const Table& table) {
    launch(begin, squares_kernel<Table>, blocks, kSquareThreads, 0, stream,
           "predictor_train: squares", table, plan.space.squares, plan.space.counters, scales);
  });
}

void train_errors(const TrainArgs& args, TrainPlan& plan, Stream stream) {
  const ErrorArgs errors{{static_cast<const uint16_t*>(args.features),
                          static_cast<const uint16_t*>(args.net.fc_low), args.net.fc_bias},
                         args.net.scale,
                         plan.space.errors,
                         plan.space.losses,
                         args.loss,
                         plan.space.counters + 1};
  // Behind the squares, which write neither gradients nor net.
  const Begin begin = args.normalise ? Begin::kEarly : Begin::kAfter;
  const int64_t steps = set_offsets(
      plan.table, [](const TrainLayer& layer) { return fc::steps_of(layer.rows, layer.cols); });
  with_smallest(plan.table, [&]<typename Table>(const Table& table) {
    launch(begin, errors_kernel<Table>, fc::blocks_of(steps), fc::kThreads,
           fc::Tile::shared_bytes(1), stream, "predictor_train: errors", table, errors);
  });
}

}  // namespace adagp::cuda

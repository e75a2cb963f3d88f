// The first launch of predictor_train: the mean square of each layer's gradient, and its scale.

#include "adagp/gpu/cuda/blocks.cuh"
#include "adagp/gpu/cuda/launch.cuh"
#include "adagp/gpu/cuda/mma.cuh"
#include "adagp/gpu/cuda/predictor/train_plan.h"

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
  wait_for_before();
  if (threadIdx.x == 0) squares[block] = total;
  if (last_block(counter)) move_scales(table, squares, scales);
}

}  // namespace

void train_squares(const TrainArgs& args, TrainPlan& plan, Stream stream) {
  const int64_t blocks =
      set_offsets(plan.table, [](const TrainLayer& layer) { return layer.square_blocks(); });
  const Scales scales{args.net.mean_square, args.net.scale, args.seen, args.rms_decay};
  const Begin begin = args.behind_features ? Begin::kEarly : Begin::kAfter;
  with_smallest(plan.table, [&]<typename Table>(const Table& table) {
    launch(begin, squares_kernel<Table>, blocks, kSquareThreads, 0, stream,
           "predictor_train: squares", table, plan.space.squares, plan.space.counters, scales);
  });
}

}  // namespace adagp::cuda

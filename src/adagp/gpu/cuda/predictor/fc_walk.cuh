#pragma once
// A block's run of steps through the layers: see fc_tile.cuh.

#include "adagp/gpu/cuda/predictor/fc_tile.cuh"

namespace adagp::cuda::fc {

// Where a thread has quad i of an array.
__device__ inline uint32_t own_quad(uint32_t place, int array, int i) {
  return place + static_cast<uint32_t>(array * Tile::kArrayBytes + i * kThreads * kQuadBytes);
}

// Work does something with every step:
//   kArrays                       of four floats per quad, that it copies to shared memory
//   ask(step, place)              begins the copies; those of the block's first steps before
//                                 wait_for_before(). `place`: the thread's own in shared memory,
//                                 see own_quad()
//   use(step, sums, bias, place)  bias: of the tile's columns, in shared memory
template <typename Table, typename Work>
struct Walk {
  static constexpr int kStageBytes = Tile::stage_bytes(Work::kArrays);

  const Table& table;
  const Net& net;
  Work& work;
  float (&bias)[2][Tile::kCols];
  uint32_t weights;  // in shared memory; behind them the stages, each features and the thread's own
  Lanes lanes;
  Step now, ahead;               // the present step, and the next to ask for
  int left, to_ask;              // steps, with these
  int stage = 0, ask_stage = 0;  // of them
  int tile = 0;                  // which bias

  __device__ uint32_t stage_at(int index) const {
    return weights + Tile::kWeightBytes + static_cast<uint32_t>(index * kStageBytes);
  }
  __device__ static uint32_t own_place(uint32_t stage) {
    return stage + kFeatureBytes + threadIdx.x * kQuadBytes;
  }
  __device__ static int next_stage(int index) { return index + 1 < Tile::kStages ? index + 1 : 0; }

  __device__ void ask_columns(const Step& step) const {
    const int cols = table.layer[step.layer].cols, col = static_cast<int>(threadIdx.x);
    copy_weights(weights, net.weights, step.col, cols);
    if (col < Tile::kCols) {
      bias[tile][col] = step.col + col < cols ? net.bias[step.col + col] : 0.0F;
    }
  }
  __device__ void ask_features(const Step& step, uint32_t stage_address) const {
    const auto& layer = table.layer[step.layer];
    copy_features(stage_address, net.features + static_cast<int64_t>(layer.first_row) * kFeatures,
                  step.row, layer.rows);
  }
  __device__ void ask_next() {
    --to_ask;
    ask_stage = next_stage(ask_stage);
    if (to_ask > 0) ahead = step_after(table, ahead);
  }

  // A group of copies per step, empty where there is none, so that the count holds.
  __device__ void begin() {
    ask_columns(now);
    Step early = now;
#pragma unroll
    for (int i = 0; i < Tile::kStages - 1; ++i) {
      if (i >= left) break;
      work.ask(early, own_place(stage_at(i)));
      if (i + 1 < left) early = step_after(table, early);
    }
    wait_for_before();
#pragma unroll
    for (int i = 0; i < Tile::kStages - 1; ++i) {
      if (to_ask > 0) {
        ask_features(ahead, stage_at(ask_stage));
        ask_next();
      }
      copy_commit();
    }
  }

  __device__ void turn() {
    copy_wait<Tile::kStages - 2>();
    __syncthreads();  // this step's operands are there for all, and all are done with the last one
    if (to_ask > 0) {
      const uint32_t to = stage_at(ask_stage);
      ask_features(ahead, to);
      work.ask(ahead, own_place(to));
      ask_next();
    }
    copy_commit();
    const uint32_t from = stage_at(stage);
    Sums sums;
    multiply(sums, lanes, from);
    const Step step = now;
    const float* const added = bias[tile];
    if (--left > 0) now = step_after(table, now);
    const bool columns_change = now.layer != step.layer || now.col != step.col;
    if (columns_change) {
      __syncthreads();  // all are done with these columns of fc
      tile ^= 1;
      ask_columns(now);
      copy_commit();
    }
    work.use(step, sums, added, own_place(from));
    // They came after the steps ahead, so these have to be waited for as well.
    if (columns_change) copy_wait<0>();
    stage = next_stage(stage);
  }
};

template <typename Table, typename Work>
__device__ inline void for_steps(const Table& table, const Net& net, Work& work) {
  __shared__ __align__(16) float bias[2][Tile::kCols];
  const int total = table.offset[table.count];
  const auto blocks = static_cast<int64_t>(gridDim.x), block = static_cast<int64_t>(blockIdx.x);
  const int begin = static_cast<int>(block * total / blocks);
  const int end = static_cast<int>((block + 1) * total / blocks);
  const uint32_t weights = shared_address(shared_memory());
  const Step first = step_at(table, begin);
  Walk<Table, Work> walk{table, net,   work,        bias,       weights, lanes_of(weights),
                         first, first, end - begin, end - begin};
  walk.begin();
#pragma unroll 1
  while (walk.left > 0) walk.turn();
}

}  // namespace adagp::cuda::fc

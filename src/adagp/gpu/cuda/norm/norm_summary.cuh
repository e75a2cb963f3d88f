#pragma once
// The summary from the sums of cells that the blocks of norm_stats left: the last block of a tile
// adds up the cells of each window.

#include "adagp/gpu/cuda/norm/norm.h"
#include "adagp/gpu/cuda/norm/reduce.cuh"

namespace adagp::cuda::norm {

// What the kernel of norm_stats takes.
struct StatsLaunch {
  StatsArgs args;
  Sharing sharing;
  plan::Axis y, x;      // of the cells; without a summary one cell is all there is
  double per_position;  // 1 / n
  double unbiased;      // n / (n - 1); n = 1: infinity, so that 0 variance becomes NaN like torch's
  int pass;             // log2 of the channels whose cells are in shared memory at once
  uint32_t pitch;       // of x
  uint32_t copy_pitch;
};

// Channels [first, first + count) of the tile: their cells to shared memory, channel by channel.
__device__ inline void stage_cells(const StatsLaunch& p, int first, int count, int stride,
                                   Scratch& scratch) {
  constexpr int kAtOnce = 4;
  const int cells = p.sharing.units.cells, all = cells << p.pass;
  for (int i = static_cast<int>(threadIdx.x); i < all; i += kAtOnce * kThreads) {
    float value[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int at = i + u * kThreads, channel = at & ((1 << p.pass) - 1);
      value[u] = 0;
      if (at < all && channel < count) {
        value[u] = __ldcg(cell_row(p.sharing, at >> p.pass) + first + channel);
      }
    }
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int at = i + u * kThreads, channel = at & ((1 << p.pass) - 1);
      if (at < all && channel < count) {
        scratch.floats[channel * stride + (at >> p.pass)] = value[u];
      }
    }
  }
}

// One window of the summary: its cells, and one over the values in it.
struct Window {
  int top, bottom, left, right;
  float per_value;
};
__device__ inline Window window_of(const StatsLaunch& p, int y, int x) {
  Window w{p.y.first[y], p.y.last[y], p.x.first[x], p.x.last[x], 0};
  const uint32_t height = p.y.start[w.bottom] + p.y.length[w.bottom].divisor - p.y.start[w.top];
  const uint32_t width = p.x.start[w.right] + p.x.length[w.right].divisor - p.x.start[w.left];
  w.per_value = 1.0F / (static_cast<float>(p.args.map.batch) * static_cast<float>(height * width));
  return w;
}

// The staged channels' rows of the summary. centre[c]: the pivot plus conv_bias.
__device__ inline void pool_cells(const StatsLaunch& p, const float* centre, int first_channel,
                                  int count, int stride, const Scratch& scratch) {
  const int size = p.args.size, outputs = size * size, thread = static_cast<int>(threadIdx.x);
  const int side = min(outputs, kThreads), beside = kThreads / side;
  if (thread / side >= beside) return;
  for (int out = thread % side; out < outputs; out += side) {
    const Window w = window_of(p, out / size, out % size);
    for (int channel = thread / side; channel < count; channel += beside) {
      const float* cells = scratch.floats + channel * stride;
      float sum = 0;
      for (int y = w.top; y <= w.bottom; ++y) {
        for (int x = w.left; x <= w.right; ++x) sum += cells[y * p.x.cells + x];
      }
      const float mean = fmaf(sum, w.per_value, centre[channel]);
      float& to = p.args.summary[static_cast<int64_t>(first_channel + channel) * outputs + out];
      to = p.args.use > 1 ? to + (mean - to) / static_cast<float>(p.args.use) : mean;
    }
  }
}

// In the last block of a tile: the rows of the summary of its channels. pivot(channel): what was
// subtracted before the sums.
template <typename Pivot>
__device__ void finish_summary(const StatsLaunch& p, Scratch& scratch, const Pivot& pivot) {
  __shared__ float centre[kLanes * plan::kSumWidth];
  const int in_tile = kLanes * p.sharing.units.tiling.width;
  const int tile = static_cast<int>(blockIdx.x) * in_tile;
  const int channels = min(in_tile, p.sharing.units.tiling.channels - tile);
  const int thread = static_cast<int>(threadIdx.x), stride = p.sharing.units.cells | 1;
  if (thread < channels) {
    const float bias = p.args.conv_bias ? p.args.conv_bias[tile + thread] : 0.0F;
    centre[thread] = pivot(tile + thread) + bias;
  }
  for (int first = 0; first < channels; first += 1 << p.pass) {
    const int count = min(1 << p.pass, channels - first);
    stage_cells(p, first, count, stride, scratch);
    __syncthreads();
    pool_cells(p, centre + first, tile + first, count, stride, scratch);
    __syncthreads();
  }
}

}  // namespace adagp::cuda::norm

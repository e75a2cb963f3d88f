// The summaries of all layers from their cells, in one launch: a block has 32 filters of a layer.

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/cuda/blocks.cuh"
#include "adagp/cuda/norm.h"
#include "adagp/cuda/norm_plan.h"

namespace adagp::cuda {
namespace {

constexpr int kThreads = 256, kFilters = 32;
constexpr int kTurn = kThreads / kFilters;  // outputs that a block has in hand at once
constexpr int kMostOutputs = plan::kLargestSize * plan::kLargestSize;
constexpr int kMostLayers = 128;  // of a launch: they travel in its arguments

// One side of a map: for each window its first and last cell.
struct Side {
  uint8_t first[plan::kLargestSize], last[plan::kLargestSize];
  int pixels, cells;
};

struct Layer {
  const float* cells;
  float* summary;
  Side rows, cols;
  int channels;
  float per_image;  // 1 / batch
};

struct Table {
  Layer layer[kMostLayers];
  int offset[kMostLayers + 1];  // of each layer's first block
  int count, size;
};

__device__ float window_length(const Side& side, int window, int size) {
  const int begin = window * side.pixels / size;
  return static_cast<float>(((window + 1) * side.pixels + size - 1) / size - begin);
}

__device__ float mean_of(const Layer& layer, int size, int out, int channel) {
  const int y = out / size, x = out % size;
  float sum = 0;
  for (int i = layer.rows.first[y]; i <= layer.rows.last[y]; ++i) {
    for (int j = layer.cols.first[x]; j <= layer.cols.last[x]; ++j) {
      sum += layer.cells[static_cast<int64_t>(i * layer.cols.cells + j) * layer.channels + channel];
    }
  }
  const float area = window_length(layer.rows, y, size) * window_length(layer.cols, x, size);
  return sum * layer.per_image / area;
}

// A warp reads one output of 32 filters side by side; what is written lies the other way round.
template <int kSize>
__device__ void pool_filters(const Layer& layer, int given, int first, float* pooled) {
  const int size = kSize > 0 ? kSize : given, outputs = size * size;
  const int thread = static_cast<int>(threadIdx.x), filter = thread % kFilters;
  const int valid = min(kFilters, layer.channels - first);
#pragma unroll 8
  for (int out = thread / kFilters; out < outputs; out += kTurn) {
    if (filter < valid) {
      pooled[out * (kFilters + 1) + filter] = mean_of(layer, size, out, first + filter);
    }
  }
  __syncthreads();
  float* to = layer.summary + static_cast<int64_t>(first) * outputs;
  for (int i = thread; i < valid * outputs; i += kThreads) {
    to[i] = pooled[(i % outputs) * (kFilters + 1) + i / outputs];
  }
}

__global__ void __launch_bounds__(kThreads) pool_cells_kernel(const __grid_constant__ Table table) {
  __shared__ float pooled[kMostOutputs * (kFilters + 1)];
  const int block = static_cast<int>(blockIdx.x);
  const int l = find_range(table.offset, table.count, block);
  const int first = (block - table.offset[l]) * kFilters;
  if (table.size == 8) {
    pool_filters<8>(table.layer[l], 8, first, pooled);
  } else {
    pool_filters<0>(table.layer[l], table.size, first, pooled);
  }
}

Side side_of(int64_t pixels, int size) {
  const plan::Axis axis = plan::windows(pixels, size);
  Side out{};
  for (int i = 0; i < size; ++i) out.first[i] = axis.first[i], out.last[i] = axis.last[i];
  out.pixels = static_cast<int>(pixels);
  out.cells = axis.cells;
  return out;
}

}  // namespace

void pool_cells(const PoolArgs* layers, int64_t count, int size, Stream stream) {
  if (size < 1 || size > plan::kLargestSize) {
    throw Error(core::cat("pool_cells: summary of ", size, "x", size,
                          ", its side must be from 1 to ", plan::kLargestSize));
  }
  Table table{};
  table.size = size;
  for (int64_t i = 0; i < count; ++i) {
    const PoolArgs& from = layers[i];
    const Map& map = from.map;
    table.layer[table.count] = {from.cells,
                                from.summary,
                                side_of(map.height, size),
                                side_of(map.width, size),
                                static_cast<int>(map.channels),
                                1.0F / static_cast<float>(map.batch)};
    const auto blocks = static_cast<int>((map.channels + kFilters - 1) / kFilters);
    table.offset[table.count + 1] = table.offset[table.count] + blocks;
    ++table.count;
    if (table.count < kMostLayers && i + 1 < count) continue;
    pool_cells_kernel<<<static_cast<unsigned>(table.offset[table.count]), kThreads, 0,
                        static_cast<cudaStream_t>(stream)>>>(table);
    check_launch("pool_cells");
    table.count = 0;
  }
}

}  // namespace adagp::cuda

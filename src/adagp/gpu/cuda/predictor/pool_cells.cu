// The summaries of all layers from their cells, in one launch: a block has 32 filters of a layer
// and 16 of their outputs. So few, because there is little to read and each read is waited for.

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/gpu/cuda/blocks.cuh"
#include "adagp/gpu/cuda/launch.cuh"
#include "adagp/gpu/cuda/norm/norm.h"
#include "adagp/gpu/cuda/norm/norm_plan.h"
#include "adagp/gpu/cuda/predictor/layer_table.h"

namespace adagp::cuda {
namespace {

constexpr int kThreads = 256, kFilters = 32;
constexpr int kOutputs = 16, kTurn = kThreads / kFilters;  // of a block, and in hand at once
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

using Table = LayerTable<Layer, kMostLayers>;

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
template <typename Table>
__global__ void __launch_bounds__(kThreads)
    pool_cells_kernel(const __grid_constant__ Table table, int size) {
  __shared__ float pooled[kOutputs][kFilters + 1];
  wait_for_before();  // lets predictor_features begin
  const int block = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  const int l = find_range(table.offset, table.count, block);
  const Layer& layer = table.layer[l];
  const int outputs = size * size, parts = (outputs + kOutputs - 1) / kOutputs;
  const int inside = block - table.offset[l];
  const int filter = inside / parts * kFilters, output = inside % parts * kOutputs;
  const int filters = min(kFilters, layer.channels - filter),
            count = min(kOutputs, outputs - output);
#pragma unroll
  for (int i = 0; i < kOutputs / kTurn; ++i) {
    const int f = thread % kFilters, o = thread / kFilters + i * kTurn;
    if (f < filters && o < count) pooled[o][f] = mean_of(layer, size, output + o, filter + f);
  }
  __syncthreads();
  float* to = layer.summary + static_cast<int64_t>(filter) * outputs + output;
#pragma unroll
  for (int i = thread; i < kFilters * kOutputs; i += kThreads) {
    const int f = i / kOutputs, o = i % kOutputs;
    if (f < filters && o < count) to[f * outputs + o] = pooled[o][f];
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
  const int64_t parts = (static_cast<int64_t>(size) * size + kOutputs - 1) / kOutputs;
  for (int64_t begin = 0; begin < count; begin += kMostLayers) {
    Table table;
    table.count = static_cast<int>(std::min<int64_t>(kMostLayers, count - begin));
    for (int l = 0; l < table.count; ++l) {
      const PoolArgs& from = layers[begin + l];
      const Map& map = from.map;
      table.layer[l] = {from.cells,
                        from.summary,
                        side_of(map.height, size),
                        side_of(map.width, size),
                        static_cast<int>(map.channels),
                        1.0F / static_cast<float>(map.batch)};
      const int64_t blocks = (map.channels + kFilters - 1) / kFilters * parts;
      table.offset[l + 1] = table.offset[l] + static_cast<int>(blocks);
    }
    with_smallest(table, [&]<typename Small>(const Small& small) {
      launch(Begin::kAfter, pool_cells_kernel<Small>, table.total(), kThreads, 0, stream,
             "pool_cells", small, size);
    });
  }
}

}  // namespace adagp::cuda

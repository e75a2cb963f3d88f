// The products of predictor_train: gradients of the features and of fc from the errors, in slots.

#include "adagp/cuda/blocks.cuh"
#include "adagp/cuda/launch.cuh"
#include "adagp/cuda/product_tile.cuh"
#include "adagp/cuda/train_plan.h"

namespace adagp::cuda {
namespace {

constexpr int kWarps = product::kThreads / 32;

struct ProductArgs {
  const uint16_t *features, *fc_low;
  TrainShape shape;
  TrainSpace space;
};

// 64 rows of a layer's E times fc, over one split of the columns.
__device__ inline void features_gradient(const TrainLayer& layer, int block,
                                         const ProductArgs& args) {
  const int split = block % layer.splits, row = block / layer.splits * kProductRows;
  const int end = min(layer.cols, (split + 1) * kSplit);
  const int rows = min(kProductRows, layer.rows - row);
  const uint16_t* errors =
      args.space.errors + layer.error + static_cast<int64_t>(row) * layer.error_cols;
  product::Sums sums;
  const product::Lanes lanes = product::lanes_of<false>();
  int col = split * kSplit;
  const int chunks = (end - col + kChunk - 1) / kChunk;
  product::for_chunks(
      chunks,
      [&](uint32_t stage) {
        product::copy_b(stage, args.fc_low + static_cast<int64_t>(col) * kFeatures, end - col);
        product::copy_error<false>(stage, errors + col, layer.error_cols, rows,
                                   layer.error_cols - col);
        col += kChunk;
      },
      [&](uint32_t stage) { product::multiply<false>(sums, lanes, stage); });
  const int64_t slot = layer.slot_row + static_cast<int64_t>(split) * layer.rows + row;
  product::store(args.space.inputs + slot * kFeatures, sums, layer.share, rows);
}

// Chunks of rows of those layers that have column `col`, in the order of the layers.
struct Walk {
  int layer = -1, row = 0;
};
template <typename Table>
__device__ inline void next_layer(const Table& table, int col, Walk& walk) {
  do {
    ++walk.layer;
  } while (walk.layer < table.count && table.layer[walk.layer].cols <= col);
  walk.row = 0;
}
template <typename Table>
__device__ inline void next_chunk(const Table& table, int col, Walk& walk) {
  walk.row += kChunk;
  if (walk.row >= table.layer[walk.layer].rows) next_layer(table, col, walk);
}

// The walk's place after `skipped` chunks, and the chunks of all layers.
struct Start {
  Walk walk;
  int chunks = 0;
};
template <typename Table>
__device__ inline Start start_of(const Table& table, int col, int skipped) {
  Start start;
  for (int l = 0; l < table.count; ++l) {
    if (table.layer[l].cols <= col) continue;
    const int chunks = (table.layer[l].rows + kChunk - 1) / kChunk;
    if (skipped >= start.chunks && skipped < start.chunks + chunks) {
      start.walk = {l, (skipped - start.chunks) * kChunk};
    }
    start.chunks += chunks;
  }
  return start;
}

// Sums of E's columns: a lane has two columns, a warp four rows of each chunk.
struct BiasSums {
  float first = 0, second = 0;

  __device__ void add(uint32_t stage) {
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
#pragma unroll
    for (int i = 0; i < kChunk / kWarps; ++i) {
      const int row = warp * (kChunk / kWarps) + i;
      const uint32_t at = product::place_error<true>(row, lane / 4) + lane % 4 * 4;
      const uint32_t pair = load_shared(stage + at);
      first += first_low(pair);
      second += second_low(pair);
    }
  }
  __device__ void store(float* to, float share) const {
    __shared__ float sums[kWarps][kProductRows];
    const int tid = static_cast<int>(threadIdx.x), lane = tid % 32;
    sums[tid / 32][2 * lane] = first;
    sums[tid / 32][2 * lane + 1] = second;
    __syncthreads();
    if (tid >= kProductRows) return;
    float sum = 0;
    for (int warp = 0; warp < kWarps; ++warp) sum += sums[warp][tid];
    to[tid] = share * sum;
  }
};

// E^T times the features for 64 columns, over one segment of the rows that have them.
template <typename Table>
__device__ inline void fc_gradient(const Table& table, int tile, int segment,
                                   const ProductArgs& args) {
  const TrainShape& shape = args.shape;
  const int first_col = tile * kProductRows, skipped = segment * shape.segment_chunks;
  const Start start = start_of(table, first_col, skipped);
  if (segment == 0 && threadIdx.x == 0) {
    args.space.segments[tile] = (start.chunks + shape.segment_chunks - 1) / shape.segment_chunks;
  }
  const int chunks = min(shape.segment_chunks, start.chunks - skipped);
  if (chunks <= 0) return;

  product::Sums sums;
  BiasSums biases;
  const product::Lanes lanes = product::lanes_of<true>();
  Walk load = start.walk, use = start.walk;
  float share = table.layer[use.layer].share;
  product::for_chunks(
      chunks,
      [&](uint32_t stage) {
        const TrainLayer& layer = table.layer[load.layer];
        const int rows = layer.rows - load.row;
        const int64_t row = static_cast<int64_t>(layer.first_row) + load.row;
        product::copy_b(stage, args.features + row * kFeatures, rows);
        product::copy_error<true>(stage,
                                  args.space.errors + layer.error +
                                      static_cast<int64_t>(load.row) * layer.error_cols + first_col,
                                  layer.error_cols, rows, layer.error_cols - first_col);
        next_chunk(table, first_col, load);
      },
      [&](uint32_t stage) {
        // The sums are in units of the layer's share: they change with it.
        const float now = table.layer[use.layer].share;
        if (now != share) {
          const float by = share / now;
          sums.scale(by);
          biases.first *= by;
          biases.second *= by;
          share = now;
        }
        product::multiply<true>(sums, lanes, stage);
        biases.add(stage);
        next_chunk(table, first_col, use);
      });
  const int64_t slot = static_cast<int64_t>(tile) * shape.segments + segment;
  product::store(args.space.weights + slot * kProductRows * kFeatures, sums, share, kProductRows);
  biases.store(args.space.biases + slot * kProductRows, share);
}

// The longer ones, of fc, come first.
template <typename Table>
__global__ void __launch_bounds__(product::kThreads, 2)
    products_kernel(const __grid_constant__ Table table, const __grid_constant__ ProductArgs args) {
  wait_for_before();
  const int block = static_cast<int>(blockIdx.x);
  const int of_fc = args.shape.fc_tiles * args.shape.segments;
  if (block < of_fc) {
    fc_gradient(table, block % args.shape.fc_tiles, block / args.shape.fc_tiles, args);
  } else {
    const int l = find_range(table.offset, table.count, block - of_fc);
    features_gradient(table.layer[l], block - of_fc - table.offset[l], args);
  }
}

}  // namespace

void train_products(const TrainArgs& args, TrainPlan& plan, Stream stream) {
  const int64_t of_features = set_offsets(plan.table, [](const TrainLayer& layer) {
    return static_cast<int64_t>((layer.rows + kProductRows - 1) / kProductRows) * layer.splits;
  });
  const int64_t of_fc = static_cast<int64_t>(plan.shape.fc_tiles) * plan.shape.segments;
  const ProductArgs products{static_cast<const uint16_t*>(args.features),
                             static_cast<const uint16_t*>(args.net.fc_low), plan.shape, plan.space};
  with_smallest(plan.table, [&]<typename Table>(const Table& table) {
    launch(Begin::kEarly, products_kernel<Table>, of_fc + of_features, product::kThreads,
           product::kSharedBytes, stream, "predictor_train: products", table, products);
  });
}

}  // namespace adagp::cuda

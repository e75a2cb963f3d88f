// The second launch of predictor_train: the errors, their loss, and the gradient of the features. A
// block goes through its run of chunks: 64 columns of a tile after 64.

#include "adagp/gpu/cuda/blocks.cuh"
#include "adagp/gpu/cuda/launch.cuh"
#include "adagp/gpu/cuda/predictor/errors_tile.cuh"
#include "adagp/gpu/cuda/predictor/train_plan.h"

namespace adagp::cuda {
namespace {

using namespace errors;

struct ErrorArgs {
  fc::Net net;
  const float* scale;
  Runs runs;
  uint16_t *errors, *inputs;
  float* losses;
};

// Chunks of one tile that a block has: columns 64 * first and on, of rows `row` and on.
struct Piece {
  const TrainLayer* layer;
  int id, row, first, chunks;
  int slot;
};
template <typename Table>
__device__ inline Piece piece_at(const Table& table, const Runs& runs, int begin, int end) {
  const int l = find_range(table.offset, table.count, begin);
  const int across = table.layer[l].chunks_across();
  const int tile = (begin - table.offset[l]) / across, tile_begin = table.offset[l] + tile * across;
  const int first = begin - tile_begin;
  return {&table.layer[l],
          l,
          tile * kErrorRows,
          first,
          min(across - first, end - begin),
          static_cast<int>(blockIdx.x) - runs.block_at(tile_begin)};
}

template <typename Layout>
__device__ inline int stages_of(const Piece& piece) {
  return piece.chunks * (kErrorCols / Layout::kCols);
}
template <typename Layout>
__device__ inline int column(const Piece& piece, int stage) {
  return piece.first * kErrorCols + stage * Layout::kCols;
}

// The features, and the first columns of fc.
template <typename Layout>
__device__ inline void begin_copies(const Piece& piece, const fc::Net& net) {
  const TrainLayer& layer = *piece.layer;
  const uint32_t memory = shared_address(shared_memory());
  copy_features(memory,
                net.features + (static_cast<int64_t>(layer.first_row) + piece.row) * kFeatures,
                layer.rows - piece.row);
  typename Layout::Ring{memory + kFeatureBytes}.begin(
      stages_of<Layout>(piece), [&](int i, uint32_t stage) {
        const int col = column<Layout>(piece, i);
        if (asks_ahead(layer)) prefetch_columns(layer, piece.row, col);
        copy_columns<Layout>(stage, net, col, layer.cols);
      });
}

// All of a piece but the gradient of the features, which is still in `products`.
template <typename Layout, bool kQuads>
__device__ inline void run(Products<Layout, kQuads>& products, const Piece& piece,
                           const ErrorArgs& args) {
  const TrainLayer& layer = *piece.layer;
  const int row = piece.row + tile::own_row();
  const int group = static_cast<int>(threadIdx.x) / 128 * kGroupRows;  // its first row
  const float inverse = 1.0F / args.scale[piece.id];
  const Rows rows{layer, row, static_cast<int64_t>(row) * layer.cols,
                  args.errors + layer.error + static_cast<int64_t>(row) * layer.error_cols};
  const uint32_t memory = shared_address(shared_memory());
  const tile::Wide features{memory + static_cast<uint32_t>(group * tile::kRowBytes), kFeatureBlock};
  typename Layout::Ring{memory + kFeatureBytes}.run(
      stages_of<Layout>(piece),
      [&](int i, uint32_t stage) {
        const int col = column<Layout>(piece, i);
        if constexpr (kQuads) prefetch_columns(layer, piece.row, col);
        copy_columns<Layout>(stage, args.net, col, layer.cols);
      },
      [&](int i, uint32_t stage) {
        if (piece.row + group < layer.rows) {
          products.use(features, rows, column<Layout>(piece, i), inverse, stage);
        }
      });
  if (Layout::kLag > 0 && products.stage != 0) products.end();
}

// Adds `piece` to errors, slots and, returned, the loss; and begins the copies of the next one.
template <typename Layout, bool kQuads>
__device__ inline float add(const Piece& piece, const Piece& next, bool more,
                            const ErrorArgs& args) {
  Products<Layout, kQuads> products;
  run(products, piece, args);
  __syncthreads();  // all are done with features and stages
  if (more) begin_copies<Layout>(next, args.net);
  const TrainLayer& layer = *piece.layer;
  const int64_t slot = layer.slot_row + static_cast<int64_t>(piece.slot) * layer.rows;
  tile::store(args.inputs + slot * kFeatures, products.sums, layer.share,
              piece.row + tile::own_row(), layer.rows);
  return 0.5F * layer.share * products.loss;
}

template <typename Layout, typename Table>
__global__ void __launch_bounds__(kThreads, 1)
    errors_kernel(const __grid_constant__ Table table, const __grid_constant__ ErrorArgs args) {
  const int begin = static_cast<int>(blockIdx.x) * args.runs.length;
  const int end = min(begin + args.runs.length, args.runs.total);
  Piece piece = piece_at(table, args.runs, begin, end);
  begin_copies<Layout>(piece, args.net);
  wait_for_before();
  float loss = 0;
#pragma unroll 1
  for (int at = begin; at < end;) {
    at += piece.chunks;
    const bool more = at < end;
    const Piece next = more ? piece_at(table, args.runs, at, end) : piece;
    loss += asks_ahead(*piece.layer) ? add<Layout, true>(piece, next, more, args)
                                     : add<Layout, false>(piece, next, more, args);
    piece = next;
  }

  loss = block_sum<kThreads>(loss);
  if (threadIdx.x == 0) args.losses[blockIdx.x] = loss;
}

}  // namespace

void train_errors(const TrainArgs& args, TrainPlan& plan, Stream stream) {
  const Runs& runs = plan.shape.errors;
  const ErrorArgs given{{static_cast<const uint16_t*>(args.features),
                         static_cast<const uint16_t*>(args.net.fc_low), args.net.fc_bias},
                        args.net.scale,
                        runs,
                        plan.space.errors,
                        plan.space.inputs,
                        plan.space.losses};
  // Behind the squares, which write the scales alone; these are read behind wait_for_before().
  const Begin begin = args.normalise ? Begin::kEarly : Begin::kAfter;
  set_offsets(plan.table, [](const TrainLayer& layer) { return layer.error_chunks(); });
  with_smallest(plan.table, [&]<typename Table>(const Table& table) {
    const auto go = [&]<typename Layout>(Layout /*layout*/) {
      launch(begin, errors_kernel<Layout, Table>, runs.blocks(), kThreads, Layout::kBytes, stream,
             "predictor_train: errors", table, given);
    };
    if (args.block_memory >= Large::kBytes + tile::kStaticBytes) {
      go(Large{});
    } else {
      go(Small{});
    }
  });
}

}  // namespace adagp::cuda

// The third launch of predictor_train: the gradient of fc from the errors, in slots.

#include "adagp/gpu/cuda/launch.cuh"
#include "adagp/gpu/cuda/mma.cuh"
#include "adagp/gpu/cuda/predictor/stages.cuh"
#include "adagp/gpu/cuda/predictor/tile_products.cuh"
#include "adagp/gpu/cuda/predictor/train_line.cuh"
#include "adagp/gpu/cuda/predictor/train_plan.h"

namespace adagp::cuda {
namespace {

// A stage is 32 rows of features, then of E for 128 columns. Four warps have 64 of these columns.
constexpr int kThreads = 256, kStages = 4, kLag = 1, kSteps = kProductRows / 16;
constexpr int kBlock = kProductRows * tile::kRowBytes;
constexpr int kErrorsAt = 4 * kBlock, kStageBytes = kErrorsAt + 2 * kBlock;
static_assert(kThreads / 128 * 64 == kProductCols);
static_assert(kStages * kStageBytes + 4 * kProductCols * sizeof(float) <= tile::kLeastMemory,
              "with the sums of the biases");

struct ProductArgs {
  const uint16_t* features;
  TrainShape shape;
  TrainSpace space;
};

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
  walk.row += kProductRows;
  if (walk.row >= table.layer[walk.layer].rows) next_layer(table, col, walk);
}

template <typename Table>
__device__ inline Walk walk_from(const Table& table, int col, int skipped) {
  Walk walk;
  for (next_layer(table, col, walk); skipped >= table.layer[walk.layer].chunks_down();) {
    skipped -= table.layer[walk.layer].chunks_down();
    next_layer(table, col, walk);
  }
  walk.row = skipped * kProductRows;
  return walk;
}

__device__ inline uint32_t place_error(int row, int piece) {
  return kErrorsAt + tile::place_wide(row, piece, kBlock);
}

// Rows of features and of E, of which `rows` exist; E's have `cols` more elements.
__device__ inline void copy_rows(uint32_t stage, const uint16_t* features, const uint16_t* errors,
                                 int stride, int rows, int cols) {
  const int tid = static_cast<int>(threadIdx.x), lane = tid % 32, warp = tid / 32;
  const uint32_t to = stage + tile::place_wide(warp, lane, kBlock);
  const uint16_t* from = features + warp * kFeatures + 8 * lane;
#pragma unroll
  for (int i = 0; i < kProductRows / 8; ++i) {
    const bool valid = warp + 8 * i < rows;
    copy_async(to + i * tile::kEightRows, valid ? from + 8 * i * kFeatures : features, valid);
  }
  const int row = tid / 16, piece = tid % 16;
  const uint32_t to_error = stage + place_error(row, piece);
#pragma unroll
  for (int i = 0; i < kProductRows / 16; ++i) {
    const bool valid = row + 16 * i < rows && 8 * piece < cols;
    copy_async(to_error + i * tile::kSixteenRows,
               errors + (valid ? static_cast<int64_t>(row + 16 * i) * stride + 8 * piece : 0),
               valid);
  }
}

// Sums of E's columns: a thread has two columns of eight rows of each chunk.
struct BiasSums {
  float first = 0, second = 0;

  __device__ void add(uint32_t stage) {
    const int pair = static_cast<int>(threadIdx.x) % 64, part = static_cast<int>(threadIdx.x) / 64;
#pragma unroll
    for (int i = 0; i < kProductRows / 4; ++i) {
      const int row = part * (kProductRows / 4) + i;
      const uint32_t both = load_shared(stage + place_error(row, pair / 4) + pair % 4 * 4);
      first += first_low(both);
      second += second_low(both);
    }
  }
  __device__ void scale(float by) {
    first *= by;
    second *= by;
  }
  __device__ void store(float* to) const {
    __shared__ float sums[4][kProductCols];
    const int tid = static_cast<int>(threadIdx.x);
    __syncthreads();  // all have read those of the piece before
    sums[tid / 64][2 * (tid % 64)] = first;
    sums[tid / 64][2 * (tid % 64) + 1] = second;
    __syncthreads();
    if (tid >= kProductCols) return;
    to[tid] = sums[0][tid] + sums[1][tid] + sums[2][tid] + sums[3][tid];
  }
};

using Ring = Stages<kStages, kLag, kStageBytes>;

// Chunks of one tile that a block has. Its copies run ahead of its products.
template <typename Table>
struct Piece {
  const Table* table;
  const ProductArgs* args;
  int col, chunks;  // the first column of the tile
  int64_t slot;     // where the sums go
  Walk load, use;

  // `chunks` from `skipped` on of those that the tile's layers have.
  __device__ Piece(const Table& table, const ProductArgs& args, int tile, int skipped, int chunks)
      : table(&table),
        args(&args),
        col(tile * kProductCols),
        chunks(chunks),
        slot(static_cast<int64_t>(blockIdx.x) + tile),
        load(walk_from(table, col, skipped)),
        use(load) {}

  __device__ float share() const { return table->layer[use.layer].share; }
  __device__ void copy(uint32_t stage) {
    const TrainLayer& layer = table->layer[load.layer];
    const int64_t row = static_cast<int64_t>(layer.first_row) + load.row;
    copy_rows(
        stage, args->features + row * kFeatures,
        args->space.errors + layer.error + static_cast<int64_t>(load.row) * layer.error_cols + col,
        layer.error_cols, layer.rows - load.row, layer.error_cols - col);
    next_chunk(*table, col, load);
  }
  __device__ void begin(const Ring& ring) {
    ring.begin(chunks, [&](int /*chunk*/, uint32_t stage) { copy(stage); });
  }
};

// E^T times the features for a piece's columns and rows.
struct Sums {
  float part[kFeatures / 8][4] = {};  // [8 features][fragment]: a warp has 16 columns of fc
  BiasSums biases;

  __device__ void scale(float by) {
#pragma unroll
    for (auto& fragment : part) {
#pragma unroll
      for (float& sum : fragment) sum *= by;
    }
    biases.scale(by);
  }

  template <typename Piece>
  __device__ void add(const Ring& ring, Piece& from) {
    const int group = static_cast<int>(threadIdx.x) / 128;
    // The sums are in units of the layer's share: they change with it.
    float share = from.share();
    ring.run(
        from.chunks, [&](int /*chunk*/, uint32_t stage) { from.copy(stage); },
        [&](int /*chunk*/, uint32_t stage) {
          const float now = from.share();
          if (now != share) {
            tile::wait_for_products<0>();
            tile::hold(part);
            scale(share / now);
            share = now;
          }
          tile::begin_multiply_add_transposed<kSteps>(
              part, stage + kErrorsAt + static_cast<uint32_t>(group * kBlock), {stage, kBlock});
          biases.add(stage);
          next_chunk(*from.table, from.col, from.use);
          tile::wait_for_products<kLag>();
        });
    tile::wait_for_products<0>();
    tile::hold(part);
    scale(share);
  }
};

template <typename Table>
__global__ void __launch_bounds__(kThreads, 1)
    products_kernel(const __grid_constant__ Table table, const __grid_constant__ ProductArgs args) {
  const Runs& runs = args.shape.products;
  const int begin = static_cast<int>(blockIdx.x) * runs.length;
  const int end = min(begin + runs.length, runs.total);
  const Ring ring{shared_address(shared_memory())};
  int tile = tile_at(table, args.shape.fc_tiles, begin);
  int tile_begin = line_before(table, tile);
  const auto piece_at = [&](int at) {
    const int tile_end = line_before(table, tile + 1), skipped = at - tile_begin;
    tile_begin = tile_end;
    return Piece<Table>(table, args, tile++, skipped, min(end, tile_end) - at);
  };
  Piece<Table> piece = piece_at(begin);
  wait_for_before();
  piece.begin(ring);
#pragma unroll 1
  for (int at = begin; at < end;) {
    Sums sums;
    sums.add(ring, piece);
    __syncthreads();  // all are done with the stages
    const int64_t slot = piece.slot;
    at += piece.chunks;
    if (at < end) {
      piece = piece_at(at);
      piece.begin(ring);
    }
    tile::store(args.space.weights + slot * kProductCols * kFeatures, sums.part, 1.0F,
                tile::own_row(), kProductCols);
    sums.biases.store(args.space.biases + slot * kProductCols);
  }
}

}  // namespace

void train_products(const TrainArgs& args, TrainPlan& plan, Stream stream) {
  const ProductArgs products{static_cast<const uint16_t*>(args.features), plan.shape, plan.space};
  with_smallest(plan.table, [&]<typename Table>(const Table& table) {
    launch(Begin::kEarly, products_kernel<Table>, plan.shape.products.blocks(), kThreads,
           kStages * kStageBytes, stream, "predictor_train: products", table, products);
  });
}

}  // namespace adagp::cuda

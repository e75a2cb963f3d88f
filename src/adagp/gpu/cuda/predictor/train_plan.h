#pragma once
// How predictor_train shares its work out and what it keeps in the workspace. Host code, and what
// the kernels ask of it.
//
// In order, one launch each, and each begins while the one before ends:
//   squares    mean square of each layer's gradient -> scale
//   errors     E = bf16(features . fc^T + bias - g / scale), all layers behind one another; each
//              block's loss; and share * E . fc -> gradient of the features, in slots
//   products   share * E^T . features -> gradient of fc, in slots
//   steps      fc's slots added up, and Adam; beside it the features' slots added up, back through
//              pool, ReLU and convolution, and Adam; and the loss
// A column of a layer, and of E, is a row of fc: fc's columns below are these.
// A slot has one writer and slots are added up in their order: the result is the same in every run.
// Slots of the large gradients are bf16, like the operands of the products that they come from.

#include <cstdint>

#include "adagp/gpu/cuda/both_sides.h"
#include "adagp/gpu/cuda/predictor/layer_table.h"
#include "adagp/gpu/cuda/predictor/predictor.h"

namespace adagp::cuda {

// Products go along their sum in chunks. A tile is 128 rows of E with all of its layer's columns,
// 64 a chunk (errors), or 128 columns of fc with the rows of all layers that have them, 32 a chunk
// (products).
constexpr int kErrorRows = 128, kErrorCols = 64, kProductCols = 128, kProductRows = 32;
// The blocks that find a place on an H200 at once. They do not depend on the device, because the
// order of the sums depends on them.
constexpr int kTrainBlocks = 132;
constexpr int kLeastRun = 2;         // chunks: fewer are not worth a block
constexpr int kSquareChunk = 32768;  // elements of a block
// With the 288 blocks of an fc of 4608 outputs, an H200 is filled twice.
constexpr int kConvBlocks = 240, kConvParts = kChannels * 9 + kChannels;

// The chunks of all tiles lie in a line, and blocks take runs of equal length of it. So a tile
// belongs to the blocks whose runs it touches, in their order, and each has a slot for its part.
struct Runs {
  int total = 0, length = 1;

  ADAGP_ON_BOTH_SIDES int blocks() const { return (total + length - 1) / length; }
  ADAGP_ON_BOTH_SIDES int block_at(int chunk) const { return chunk / length; }
  ADAGP_ON_BOTH_SIDES int blocks_of(int begin, int end) const {
    return block_at(end - 1) - block_at(begin) + 1;
  }
};

struct TrainLayer {
  const void* gradient = nullptr;
  int64_t error = 0;  // of its E in the workspace, in elements
  int first_row = 0, rows = 0, cols = 0;
  int error_cols = 0;     // cols, to a multiple of 8: what E's rows are long; the rest are zeros
  int first_chunk = 0;    // in the line of the errors' chunks
  int slot_row = 0;       // its first row of feature slots: [slots, rows]
  bool is_float = false;  // the gradient
  bool quads = false;     // the gradient, see vec4.cuh
  float share = 0;        // 2 / (layers * rows * cols)

  ADAGP_ON_BOTH_SIDES int chunks_across() const { return (cols + kErrorCols - 1) / kErrorCols; }
  ADAGP_ON_BOTH_SIDES int chunks_down() const { return (rows + kProductRows - 1) / kProductRows; }
  ADAGP_ON_BOTH_SIDES int error_tiles() const { return (rows + kErrorRows - 1) / kErrorRows; }
  ADAGP_ON_BOTH_SIDES int fc_tiles() const { return (cols + kProductCols - 1) / kProductCols; }
  ADAGP_ON_BOTH_SIDES int64_t error_chunks() const {
    return static_cast<int64_t>(error_tiles()) * chunks_across();
  }
  ADAGP_ON_BOTH_SIDES int64_t square_blocks() const {
    return (static_cast<int64_t>(rows) * cols + kSquareChunk - 1) / kSquareChunk;
  }
  // The feature slots of a row.
  ADAGP_ON_BOTH_SIDES int slots(const Runs& runs, int row) const {
    const int begin = first_chunk + row / kErrorRows * chunks_across();
    return runs.blocks_of(begin, begin + chunks_across());
  }
};

using TrainTable = LayerTable<TrainLayer, kMostTrained>;

// What a layer has of the products' chunks before fc's tile `tile`. The chunks of a tile are those
// of its layers, one behind the other.
ADAGP_ON_BOTH_SIDES inline int chunks_before(const TrainLayer& layer, int tile) {
  return layer.chunks_down() * (tile < layer.fc_tiles() ? tile : layer.fc_tiles());
}

struct TrainShape {
  int fc_tiles = 0;
  Runs errors, products;
};

// Places in the workspace.
struct TrainSpace {
  uint32_t* counters = nullptr;  // [3], zero between launches
  float* squares = nullptr;      // [blocks]
  float* losses = nullptr;       // [blocks]
  float* conv = nullptr;         // [kConvBlocks, kConvParts]
  float* biases = nullptr;       // [slots of fc, 128]; block b has slot b + t for tile t
  uint16_t* weights = nullptr;   // [slots of fc, 128, 256]
  uint16_t* inputs = nullptr;    // [slot rows, 256]
  uint16_t* errors = nullptr;    // [layer: rows, error_cols]
};

struct TrainPlan {
  TrainTable table;
  TrainShape shape;
  TrainSpace space;   // null where there is no workspace yet
  int64_t bytes = 0;  // of the workspace
};
// Throws Error for more than kMostTrained layers.
TrainPlan train_plan(const PredictedLayer* layers, int64_t count, int64_t widest, void* workspace);

// The launches; those that need table.offset set it.
void train_squares(const TrainArgs& args, TrainPlan& plan, Stream stream);
void train_errors(const TrainArgs& args, TrainPlan& plan, Stream stream);
void train_products(const TrainArgs& args, TrainPlan& plan, Stream stream);
void train_steps(const TrainArgs& args, TrainPlan& plan, Stream stream);

// Fills table.offset with the running sum of blocks(layer), and returns the total.
template <typename Blocks>
int64_t set_offsets(TrainTable& table, Blocks&& blocks) {
  for (int l = 0; l < table.count; ++l) {
    table.offset[l + 1] = table.offset[l] + static_cast<int>(blocks(table.layer[l]));
  }
  return table.total();
}

}  // namespace adagp::cuda

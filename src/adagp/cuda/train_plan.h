#pragma once
// How predictor_train shares its work out and what it keeps in the workspace. Host code.
//
// In order, one launch each, and each begins while the one before ends:
//   squares    mean square of each layer's gradient -> scale
//   errors     E = bf16(features . fc^T + bias - g / scale), all layers behind one another; the
//   loss products   per layer   share * E . fc    -> gradient of the features, in slots (splits of
//   cols)
//              per columns share * E^T . X   -> gradient of fc, in slots (segments of rows)
//   steps      fc's slots added up, and Adam; beside it the features' slots added up, back through
//              pool, ReLU and convolution, and Adam
// A slot has one writer and slots are added up in their order: the result is the same in every run.

#include <cstdint>

#include "adagp/cuda/layer_table.h"
#include "adagp/cuda/predictor.h"

namespace adagp::cuda {

struct TrainLayer {
  const void* gradient = nullptr;
  int64_t error = 0;  // of its E in the workspace, in elements
  int first_row = 0, rows = 0, cols = 0;
  int error_cols = 0;     // cols, to a multiple of 8: what E's rows are long; the rest are zeros
  int slot_row = 0;       // its first row of feature slots: [splits, rows]
  int splits = 0;         // of its columns
  bool is_float = false;  // the gradient
  bool quads = false;     // the gradient, see vec4.cuh
  float share = 0;        // 2 / (layers * rows * cols)
};

using TrainTable = LayerTable<TrainLayer, kMostTrained>;

// The products' tiles: kProductRows x all 256 features, in chunks of kChunk along the sum.
constexpr int kProductRows = 64, kChunk = 32;
// Long enough that all blocks of a network of ten layers find a place on an H200 at once.
constexpr int kSplit = 48 * kChunk;  // columns of a feature slot
constexpr int kMostSegments = 8;     // slots of a tile of fc
constexpr int kSegmentChunks = 48;   // of a slot, if kMostSegments suffice
constexpr int kSquareChunk = 16384;  // elements of a block
constexpr int kConvBlocks = 264, kConvParts = kChannels * 9 + kChannels;

struct TrainShape {
  int layers = 0;
  int fc_tiles = 0;  // of kProductRows columns of fc
  int segments = 0, segment_chunks = 0;
};

// Places in the workspace.
struct TrainSpace {
  uint32_t* counters = nullptr;  // [4], zero between launches
  float* squares = nullptr;      // [blocks]
  float* losses = nullptr;       // [blocks]
  float* conv = nullptr;         // [kConvBlocks, kConvParts]
  int* segments = nullptr;       // [fc_tiles]: how many are in use
  float* biases = nullptr;       // [fc_tiles, segments, 64]
  float* weights = nullptr;      // [fc_tiles, segments, 64, 256]
  float* inputs = nullptr;       // [slot rows, 256]
  uint16_t* errors = nullptr;    // [layer: rows, error_cols]
};

struct TrainPlan {
  TrainTable table;
  TrainShape shape;
  TrainSpace space;   // relative to null where there is no workspace yet
  int64_t bytes = 0;  // of the workspace
};
// Throws Error for more than kMostTrained layers.
TrainPlan train_plan(const PredictedLayer* layers, int64_t count, int64_t widest, void* workspace);

// The launches; each sets table.offset for itself.
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

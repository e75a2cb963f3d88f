#include <algorithm>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/cuda/fc_tile.cuh"
#include "adagp/cuda/predictor.h"
#include "adagp/cuda/train_plan.h"
#include "adagp/cuda/vec4.cuh"

namespace adagp::cuda {
namespace {

int64_t parts_of(int64_t whole, int64_t part) {
  return (whole + part - 1) / part;
}

TrainLayer layer_of(const PredictedLayer& from, int64_t count) {
  TrainLayer to;
  to.gradient = from.slot.gradient;
  to.first_row = static_cast<int>(from.first_row);
  to.rows = static_cast<int>(from.rows);
  to.cols = static_cast<int>(from.cols);
  to.error_cols = static_cast<int>(parts_of(from.cols, 8) * 8);
  to.splits = static_cast<int>(parts_of(from.cols, kSplit));
  to.is_float = from.slot.gradient_type == Type::kFloat;
  to.quads = from.cols % 4 == 0 && allows_quads(from.slot.gradient, to.is_float ? 4 : 2);
  to.share = static_cast<float>(2.0 / (static_cast<double>(count) * static_cast<double>(from.rows) *
                                       static_cast<double>(from.cols)));
  return to;
}

// Hands out the workspace piece by piece.
class Space {
 public:
  explicit Space(void* begin) : begin_(static_cast<unsigned char*>(begin)) {}

  template <typename T>
  T* take(int64_t count) {
    unsigned char* at = begin_ == nullptr ? nullptr : begin_ + bytes_;
    bytes_ += parts_of(count * static_cast<int64_t>(sizeof(T)), 256) * 256;
    return reinterpret_cast<T*>(at);
  }
  int64_t bytes() const { return bytes_; }

 private:
  unsigned char* begin_;
  int64_t bytes_ = 0;
};

}  // namespace

TrainPlan train_plan(const PredictedLayer* layers, int64_t count, int64_t widest, void* workspace) {
  if (count > kMostTrained) {
    throw Error(
        core::cat("predictor: ", count, " layers, and the kernels take at most ", kMostTrained));
  }
  TrainPlan plan;
  plan.table.count = static_cast<int>(count);
  int64_t errors = 0, slot_rows = 0, chunks = 0, squares = 0;
  for (int64_t l = 0; l < count; ++l) {
    TrainLayer& layer = plan.table.layer[l] = layer_of(layers[l], count);
    layer.error = errors;
    layer.slot_row = static_cast<int>(slot_rows);
    errors += layers[l].rows * layer.error_cols;
    slot_rows += layers[l].rows * layer.splits;
    chunks += parts_of(layers[l].rows, kChunk);
    squares += parts_of(layers[l].rows * layers[l].cols, kSquareChunk);
  }
  // The first tile of fc has the rows of all layers.
  TrainShape& shape = plan.shape;
  shape.layers = static_cast<int>(count);
  shape.fc_tiles = static_cast<int>(parts_of(widest, kProductRows));
  shape.segments =
      static_cast<int>(std::clamp<int64_t>(parts_of(chunks, kSegmentChunks), 1, kMostSegments));
  shape.segment_chunks = static_cast<int>(std::max<int64_t>(1, parts_of(chunks, shape.segments)));

  const int64_t slots = static_cast<int64_t>(shape.fc_tiles) * shape.segments;
  Space space(workspace);
  plan.space.counters = space.take<uint32_t>(4);
  plan.space.squares = space.take<float>(squares);
  plan.space.losses = space.take<float>(fc::Tile::kMostBlocks);
  plan.space.conv = space.take<float>(kConvBlocks * kConvParts);
  plan.space.segments = space.take<int>(shape.fc_tiles);
  plan.space.biases = space.take<float>(slots * kProductRows);
  plan.space.weights = space.take<float>(slots * kProductRows * kFeatures);
  plan.space.inputs = space.take<float>(slot_rows * kFeatures);
  plan.space.errors = space.take<uint16_t>(errors);
  plan.bytes = space.bytes();
  return plan;
}

int64_t train_workspace(const PredictedLayer* layers, int64_t count, int64_t /*rows*/,
                        int64_t widest) {
  return train_plan(layers, count, widest, nullptr).bytes;
}

void predictor_train(const TrainArgs& args, Stream stream) {
  TrainPlan plan = train_plan(args.layers, args.count, args.net.widest, args.workspace);
  if (args.normalise) train_squares(args, plan, stream);
  train_errors(args, plan, stream);
  train_products(args, plan, stream);
  train_steps(args, plan, stream);
}

}  // namespace adagp::cuda

#include "adagp/gpu/cuda/predictor/train_plan.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/gpu/cuda/predictor/quads.h"

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
  to.is_float = from.slot.gradient_type == Type::kFloat;
  to.quads = from.cols % 4 == 0 && allows_quads(from.slot.gradient, to.is_float ? 4 : 2);
  to.share = static_cast<float>(2.0 / (static_cast<double>(count) * static_cast<double>(from.rows) *
                                       static_cast<double>(from.cols)));
  return to;
}

Runs runs_of(int64_t total) {
  const int64_t length = std::max<int64_t>(kLeastRun, parts_of(total, kTrainBlocks));
  return {static_cast<int>(total), static_cast<int>(length)};
}

// The slots of the tile that has most.
int most_slots(const TrainLayer& layer, const Runs& runs) {
  int most = 0;
  for (int tile = 0; tile < layer.error_tiles(); ++tile) {
    most = std::max(most, layer.slots(runs, tile * kErrorRows));
  }
  return most;
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
  int64_t error_chunks = 0, product_chunks = 0;
  for (int64_t l = 0; l < count; ++l) {
    TrainLayer& layer = plan.table.layer[l] = layer_of(layers[l], count);
    layer.first_chunk = static_cast<int>(error_chunks);
    error_chunks += layer.error_chunks();
    product_chunks += int64_t{layer.fc_tiles()} * layer.chunks_down();
  }
  TrainShape& shape = plan.shape;
  shape.fc_tiles = static_cast<int>(parts_of(widest, kProductCols));
  shape.errors = runs_of(error_chunks);
  shape.products = runs_of(product_chunks);

  int64_t errors = 0, slot_rows = 0, squares = 0;
  for (int64_t l = 0; l < count; ++l) {
    TrainLayer& layer = plan.table.layer[l];
    layer.error = errors;
    layer.slot_row = static_cast<int>(slot_rows);
    errors += layers[l].rows * layer.error_cols;
    slot_rows += layers[l].rows * most_slots(layer, shape.errors);
    squares += layer.square_blocks();
  }
  const int64_t slots = int64_t{shape.products.blocks()} + shape.fc_tiles;
  Space space(workspace);
  plan.space.counters = space.take<uint32_t>(3);
  plan.space.squares = space.take<float>(squares);
  plan.space.losses = space.take<float>(shape.errors.blocks());
  plan.space.conv = space.take<float>(int64_t{kConvBlocks} * kConvParts);
  plan.space.biases = space.take<float>(slots * kProductCols);
  plan.space.weights = space.take<uint16_t>(slots * kProductCols * kFeatures);
  plan.space.inputs = space.take<uint16_t>(slot_rows * kFeatures);
  plan.space.errors = space.take<uint16_t>(errors);
  plan.bytes = space.bytes();
  return plan;
}

}  // namespace adagp::cuda

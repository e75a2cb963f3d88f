// Does the plan of predictor_train give every chunk to one block, and every block a slot of its
// own?

#include "adagp/gpu/cuda/predictor/train_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "adagp/base/core/error.h"

namespace adagp::cuda {
namespace {

using Shapes = std::vector<std::pair<int64_t, int64_t>>;  // rows, cols

std::vector<PredictedLayer> layers_of(const Shapes& shapes) {
  std::vector<PredictedLayer> layers;
  int64_t rows = 0;
  for (const auto& [height, width] : shapes) {
    PredictedLayer layer;
    layer.first_row = rows;
    layer.rows = height;
    layer.cols = width;
    layers.push_back(layer);
    rows += height;
  }
  return layers;
}

TrainPlan plan_of(const Shapes& shapes, void* workspace = nullptr) {
  int64_t widest = 0;
  for (const auto& shape : shapes) widest = std::max(widest, shape.second);
  const auto layers = layers_of(shapes);
  return train_plan(layers.data(), std::ssize(layers), widest, workspace);
}

// The products' chunks of all tiles before this one.
int line_before(const TrainPlan& plan, int tile) {
  int chunks = 0;
  for (int l = 0; l < plan.table.count; ++l) chunks += chunks_before(plan.table.layer[l], tile);
  return chunks;
}

// One weight, narrow layers, wide ones, many, and VGG13.
const Shapes kNetworks[] = {
    {{1, 1}},
    {{10, 512}, {3, 9}},
    {{512, 25088}, {4096, 4096}},
    Shapes(200, {130, 65}),
    {{64, 27},
     {64, 576},
     {128, 576},
     {128, 1152},
     {256, 1152},
     {256, 2304},
     {512, 2304},
     {512, 4608},
     {512, 4608},
     {512, 4608},
     {10, 512}},
};

// A block that works on chunk `chunk` of the errors' line has, for that tile's rows, the slot of
// this number among those that layer.slots() counts.
TEST(TrainPlan, FeatureSlotsAreApartAndInside) {
  for (const Shapes& shapes : kNetworks) {
    const TrainPlan plan = plan_of(shapes);
    const Runs& runs = plan.shape.errors;
    std::set<std::tuple<int, int, int>> parts;  // layer, tile, block
    std::set<int64_t> rows;                     // of the slots
    int chunk = 0;
    for (int l = 0; l < plan.table.count; ++l) {
      const TrainLayer& layer = plan.table.layer[l];
      ASSERT_EQ(layer.first_chunk, chunk);
      for (int tile = 0; tile < layer.error_tiles(); ++tile) {
        const int first = runs.block_at(chunk);
        for (int i = 0; i < layer.chunks_across(); ++i, ++chunk) {
          ASSERT_LT(runs.block_at(chunk), runs.blocks());
          if (!parts.emplace(l, tile, runs.block_at(chunk)).second) continue;
          const int slot = runs.block_at(chunk) - first;
          for (int row = tile * kErrorRows; row < std::min(layer.rows, (tile + 1) * kErrorRows);
               ++row) {
            ASSERT_LT(slot, layer.slots(runs, row));
            EXPECT_TRUE(
                rows.insert(int64_t{layer.slot_row} + int64_t{slot} * layer.rows + row).second);
          }
        }
      }
    }
    EXPECT_EQ(chunk, runs.total);
    EXPECT_LE(runs.blocks(), kTrainBlocks);
  }
}

TEST(TrainPlan, TilesOfFcHaveSlotsOfTheirOwn) {
  for (const Shapes& shapes : kNetworks) {
    const TrainPlan plan = plan_of(shapes);
    const Runs& runs = plan.shape.products;
    std::set<int> slots;
    for (int tile = 0; tile < plan.shape.fc_tiles; ++tile) {
      const int begin = line_before(plan, tile), end = line_before(plan, tile + 1);
      ASSERT_LT(begin, end) << "the widest layer has all tiles";
      for (int block = runs.block_at(begin);
           block < runs.block_at(begin) + runs.blocks_of(begin, end); ++block) {
        EXPECT_TRUE(slots.insert(block + tile).second);
        EXPECT_LT(block + tile, runs.blocks() + plan.shape.fc_tiles);
      }
    }
    EXPECT_EQ(line_before(plan, plan.shape.fc_tiles), runs.total);
    EXPECT_LE(runs.blocks(), kTrainBlocks);
  }
}

// The arrays of the workspace lie behind one another, and each is as long as what is in it.
TEST(TrainPlan, TheWorkspaceHoldsAllSlots) {
  for (const Shapes& shapes : kNetworks) {
    const uintptr_t place = 1 << 20;  // an address; nothing is written there
    const TrainPlan plan = plan_of(shapes, reinterpret_cast<void*>(place));
    int64_t rows = 0, errors = 0, squares = 0;
    for (int l = 0; l < plan.table.count; ++l) {
      const TrainLayer& layer = plan.table.layer[l];
      EXPECT_EQ(layer.error_cols % 8, 0);
      EXPECT_EQ(layer.error, errors);
      errors += int64_t{layer.rows} * layer.error_cols;
      squares += layer.square_blocks();
      EXPECT_GE(layer.square_blocks() * kSquareChunk, int64_t{layer.rows} * layer.cols);
      for (int row = 0; row < layer.rows; row += kErrorRows) {
        rows = std::max(rows,
                        layer.slot_row + int64_t{layer.slots(plan.shape.errors, row)} * layer.rows);
      }
    }
    const int64_t slots = plan.shape.products.blocks() + plan.shape.fc_tiles;
    const std::pair<const void*, int64_t> arrays[] = {
        // and the bytes of each
        {plan.space.counters, 12},
        {plan.space.squares, squares * 4},
        {plan.space.losses, plan.shape.errors.blocks() * 4},
        {plan.space.conv, kConvBlocks * kConvParts * 4},
        {plan.space.biases, slots * kProductCols * 4},
        {plan.space.weights, slots * kProductCols * kFeatures * 2},
        {plan.space.inputs, rows * kFeatures * 2},
        {plan.space.errors, errors * 2}};
    uintptr_t free = place;
    for (const auto& [array, bytes] : arrays) {
      const auto at = reinterpret_cast<uintptr_t>(array);
      EXPECT_GE(at, free);
      EXPECT_EQ(at % 256, 0U);
      free = at + static_cast<uintptr_t>(bytes);
    }
    EXPECT_LE(free, place + static_cast<uintptr_t>(plan.bytes));
    EXPECT_LT(place + static_cast<uintptr_t>(plan.bytes), free + 256);
  }
}

// Outputs of fc that no layer has: only the last tiles are without chunks, and without slots.
TEST(TrainPlan, WiderFcThanAnyLayer) {
  const auto layers = layers_of({{64, 27}, {64, 300}});
  const TrainPlan plan = train_plan(layers.data(), std::ssize(layers), 1000, nullptr);
  EXPECT_EQ(plan.shape.fc_tiles, 8);
  EXPECT_EQ(line_before(plan, 3), plan.shape.products.total);
  EXPECT_EQ(line_before(plan, 8), plan.shape.products.total);
  EXPECT_LT(line_before(plan, 2), plan.shape.products.total);
}

TEST(TrainPlan, RefusesMoreLayersThanTheKernelsTake) {
  EXPECT_THROW(plan_of(Shapes(kMostTrained + 1, {8, 8})), Error);
}

}  // namespace
}  // namespace adagp::cuda

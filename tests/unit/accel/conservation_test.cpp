// What must hold for every layer, dataflow and pass, whatever the formulas are.
#include <gtest/gtest.h>

#include <limits>

#include "adagp/base/core/text.h"
#include "adagp/sim/accel/cost.h"
#include "unit/accel/networks.h"

namespace adagp::accel {
namespace {

std::vector<layers::Row> rows() {
  auto out = test::resnet50().rows;
  for (const layers::Row& row : test::vgg13_cifar().rows) out.push_back(row);
  out.push_back(test::conv("depthwise", 96, 28, 96, 3, 2, 1, 96));
  out.push_back(test::conv("grouped", 48, 27, 64, 5, 1, 2, 2));
  out.push_back(test::linear("tokens", 512, 2048, 33));
  return out;
}

std::vector<Array> arrays() {
  std::vector<Array> out;
  for (const auto& [h, w] : {std::pair<int64_t, int64_t>{12, 15}, {1, 1}, {32, 32}, {7, 128}}) {
    out.emplace_back();
    out.back().rows = h;
    out.back().columns = w;
  }
  return out;
}

TEST(Conservation, MacsWordsAndUtilisation) {
  for (const layers::Row& row : rows()) {
    const Work forward = forward_work(row, 2);
    for (const Work& work :
         {forward, input_gradient_work(forward, row), weight_gradient_work(forward, row)}) {
      for (const Dataflow* dataflow : dataflows()) {
        for (const Array& array : arrays()) {
          SCOPED_TRACE(
              core::cat(row.name, " ", dataflow->name, " pass ", static_cast<int>(work.pass)));
          const ArrayCost cost = dataflow->cost(work, array);
          EXPECT_EQ(cost.macs, 2 * row.macs);
          EXPECT_GE(cost.cycles * array.pes(), cost.macs);
          EXPECT_LE(active_pes(cost), static_cast<double>(array.pes()) + 1e-9);
          // Each operand is read and each result written at least once. A strided 1x1 convolution
          // does not touch all of its input.
          const bool skips = row.stride[0] > row.kernel[0];
          const bool kept = dataflow == &kInPlaceTransposed && work.pass == Pass::kInputGradient;
          EXPECT_GE(cost.sram.ifmap, skips ? 1 : work.tensors.input);
          EXPECT_GE(cost.sram.filter, kept ? 0 : work.tensors.filter);
          EXPECT_GE(cost.sram.ofmap, skips ? 1 : work.tensors.output);
          // Sums that come back were written before.
          EXPECT_GE(cost.sram.sums, 0);
          EXPECT_LT(cost.sram.sums, cost.sram.ofmap);
        }
      }
    }
  }
}

// Under the same mapping: a larger array never needs more folds or more cycles of useful streaming.
// (Its fill and drain do grow, which is why total cycles of a small layer can.)
TEST(Monotonicity, MorePesNeverNeedMoreFolds) {
  for (const layers::Row& row : rows()) {
    const Work work = forward_work(row, 2);
    for (const Dataflow* dataflow : dataflows()) {
      if (dataflow == &kRowStationary) continue;  // chooses another mapping for another array
      int64_t last = std::numeric_limits<int64_t>::max();
      for (int64_t side = 1; side <= 64; ++side) {
        Array array;
        array.rows = side;
        array.columns = side + 3;
        const ArrayCost cost = dataflow->cost(work, array);
        EXPECT_LE(cost.folds * cost.stream, last);
        last = cost.folds * cost.stream;
      }
    }
  }
}

TEST(Monotonicity, RowStationaryWithTwiceTheColumnsIsNotSlower) {
  for (const layers::Row& row : rows()) {
    const Work work = forward_work(row, 2);
    for (int64_t side = 1; side <= 32; ++side) {
      Array array, wide;
      array.rows = wide.rows = 12;
      array.columns = side;
      wide.columns = 2 * side;
      EXPECT_LE(kRowStationary.cost(work, wide).cycles, kRowStationary.cost(work, array).cycles)
          << row.name << " " << side;
    }
  }
}

TEST(Monotonicity, MoreLanesNeverSlowVectorPasses) {
  Accelerator accelerator;
  int64_t last = vector_cost(100000, accelerator, 1).vector;
  for (int64_t lanes = 2; lanes < 400; ++lanes) {
    const int64_t now = vector_cost(100000, accelerator, lanes).vector;
    EXPECT_LE(now, last);
    last = now;
  }
}

// Published traffic of the chip's global buffer; our rule for registers is not fitted to it. Most
// layers are within a factor of four; the factor is six because of VGG-16 CONV1-1, where the chip
// moved five times our count and we do not know why. So this holds the order of magnitude, no more.
TEST(RowStationary, BufferTrafficIsThatOfEyerissWithinAFactorOfSix) {
  Accelerator eyeriss;
  eyeriss.array.rows = 12;
  eyeriss.array.columns = 14;
  for (const auto& row : test::golden("eyeriss_chip.csv")) {
    const int64_t kernel = test::whole(row, "R"), out = test::whole(row, "E");
    const int64_t stride = kernel == 11 ? 4 : 1;
    const layers::Row layer = test::conv("l", test::whole(row, "C"), (out - 1) * stride + kernel,
                                         test::whole(row, "M"), kernel, stride, 0);
    const Work work = forward_work(layer, test::whole(row, "batch"));
    const ArrayCost cost = kRowStationary.cost(work, eyeriss.array);
    const double ratio = static_cast<double>(2 * cost.sram.total()) /
                         (test::real(row, "eyeriss_GLB_MB") * 1024 * 1024);
    EXPECT_GT(ratio, 1.0 / 6) << row.at("net") << " " << row.at("layer");
    EXPECT_LT(ratio, 6) << row.at("net") << " " << row.at("layer");
  }
}

}  // namespace
}  // namespace adagp::accel

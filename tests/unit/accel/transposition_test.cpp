// Reading W and X in the other order, and weights that PEs of an in-place array can keep.
#include <gtest/gtest.h>

#include "adagp/base/core/rng.h"
#include "adagp/sim/accel/cost.h"
#include "adagp/sim/accel/memory.h"
#include "unit/accel/in_place_grid.h"
#include "unit/accel/networks.h"

namespace adagp::accel {
namespace {

// A layer with W of 5x4x3x3 = 180 words and X of 2x4x6x6 = 288 words.
struct Passes {
  layers::Row row = test::conv("a", 4, 6, 5, 3, 1, 1);
  Work forward = forward_work(row, 2);
  Work dx = input_gradient_work(forward, row), dw = weight_gradient_work(forward, row);
};

TEST(Transposition, CountsTheWordsOfWAndX) {
  const Passes p;
  Accelerator a;
  const ArrayCost none;
  a.transpose = "buffer";  // a word per column and cycle
  a.array.columns = 7;
  EXPECT_EQ(transposition(p.forward, none, kWeightStationary, a).cycles, 0);
  EXPECT_EQ(transposition(p.dx, none, kWeightStationary, a).words, 180);
  EXPECT_EQ(transposition(p.dx, none, kWeightStationary, a).cycles, 26);  // ceil(180/7)
  EXPECT_EQ(transposition(p.dw, none, kOutputStationary, a).words, 288);
  EXPECT_EQ(transposition(p.dw, none, kOutputStationary, a).cycles, 42);
  EXPECT_EQ(transposition(p.dw, none, kInPlaceTransposed, a).cycles, 0);
  a.buffer_bytes_per_cycle = 6;  // three words
  EXPECT_EQ(transposition(p.dx, none, kWeightStationary, a).cycles, 60);
  const double access = (a.energy.buffer_read_pj + a.energy.buffer_write_pj) * 1e-12;
  EXPECT_DOUBLE_EQ(transposition(p.dx, none, kWeightStationary, a).energy, 180 * access);
}

TEST(Transposition, UnitsWorkBesideTheProduct) {
  const Passes p;
  Accelerator a;
  a.transpose = "unit";
  a.transposers = 1;
  ArrayCost product;
  product.cycles = 10;
  // X has 288 words: two blocks of 256, 16 cycles each.
  EXPECT_EQ(transposition(p.dw, product, kWeightStationary, a).cycles, 2 * 16 - 10);
  a.transposers = 2;
  EXPECT_EQ(transposition(p.dw, product, kWeightStationary, a).cycles, 16 - 10);
  product.cycles = 100;
  EXPECT_EQ(transposition(p.dw, product, kWeightStationary, a).cycles, 0);
  EXPECT_EQ(transposition(p.dw, product, kWeightStationary, a).energy, 0);
}

TEST(Transposition, IsTheStallOfAProductAndNothingElse) {
  const Passes p;
  Accelerator free, a;
  a.transpose = "buffer";
  for (const Work& work : {p.forward, p.dx, p.dw}) {
    const PassCost before = product_cost(work, a.array, kWeightStationary, free);
    const PassCost after = product_cost(work, a.array, kWeightStationary, a);
    const ArrayCost cost = kWeightStationary.cost(work, a.array);
    const Transposition turned = transposition(work, cost, kWeightStationary, a);
    EXPECT_EQ(after.array, before.array);
    EXPECT_EQ(after.stall, before.stall + turned.cycles);
    EXPECT_DOUBLE_EQ(after.energy.buffer, before.energy.buffer + turned.energy);
  }
}

TEST(WeightRegisters, TheFoldsOfTheForwardPassThatAreLeft) {
  core::Rng random(3);
  for (const int64_t registers : {1, 2, 5}) {
    for (const auto& [m, k, n] : {std::array<int64_t, 3>{3, 9, 6}, {7, 4, 5}, {2, 3, 2}}) {
      Array sizes;
      sizes.rows = 3;
      sizes.columns = 4;
      test::InPlaceArray array(3, 4, static_cast<size_t>(registers));
      test::Matrix x = test::zeros(m, k), w = test::zeros(k, n), dy = test::zeros(m, n);
      for (test::Matrix* matrix : {&x, &w, &dy}) {
        for (auto& row : *matrix) {
          for (double& value : row) value = static_cast<double>(random.below(9) - 4);
        }
      }
      array.forward(x, w);
      const test::Run dx = array.input_gradient(dy);
      EXPECT_EQ(dx.out, test::product(dy, test::transposed(w)));
      Operands operands;
      operands.kept_folds = registers;
      Accelerator a;
      a.array = sizes;
      const Work work = gemm_work({m, n, k}, Pass::kInputGradient);
      EXPECT_EQ(product_cost(work, sizes, kInPlaceTransposed, a, operands).array, dx.cycles)
          << registers << " registers, " << m << "x" << k << "x" << n;
    }
  }
}

TEST(WeightRegisters, AreUsedUpFromTheLastLayerBackward) {
  PlanOptions options;
  options.batch = 2;
  const Plan plan = make_plan(
      {"test", "made up", {test::linear("a", 24, 24), test::linear("b", 24, 24)}}, options);
  Accelerator a;
  a.array.rows = a.array.columns = 12;  // four folds each
  int64_t before = -1;
  for (const int64_t registers : {1, 3, 4, 6, 8, 100, 0}) {
    a.array.weight_registers = registers;
    std::vector<LayerCost> costs;
    evaluate(plan, a, kInPlaceTransposed, Scope::kBackprop, costs);
    const int64_t cycles = costs[1].input_gradient.array;
    const int64_t lost = registers == 0 ? 0 : std::max<int64_t>(0, 4 - registers);
    EXPECT_EQ(cycles, 4 * (2 + 12 + 12 - 2) + lost * 12);
    if (before >= 0) {
      EXPECT_LE(cycles, before);  // more registers are never slower
    }
    before = cycles;
    // "a" is the first layer: it has no input gradient.
    if (registers > 0) {
      EXPECT_EQ(kept_folds(plan, a), (std::vector<int64_t>{std::clamp<int64_t>(registers - 4, 0, 4),
                                                           std::min<int64_t>(registers, 4)}));
    }
  }
}

}  // namespace
}  // namespace adagp::accel

// What the second array of design max does, against sums over the layers.
#include <gtest/gtest.h>

#include <numeric>

#include "adagp/base/core/error.h"
#include "adagp/sim/accel/energy.h"
#include "adagp/sim/accel/simulate.h"
#include "unit/accel/expect.h"
#include "unit/accel/networks.h"

namespace adagp::accel {
namespace {

using schedule::Phase;

struct MaxBatch {
  std::vector<LayerCost> layers;
  BatchCost cost;

  MaxBatch(Phase phase, int64_t batch) {
    PlanOptions options;
    options.batch = batch;
    const Plan plan = make_plan(
        {"test",
         "made up",
         {test::conv("first", 3, 8, 16, 3, 1, 1), test::conv("second", 16, 8, 32, 3, 2, 1),
          test::conv("third", 32, 4, 8, 1, 1, 0)}},
        options);
    const Accelerator machine;
    evaluate(plan, machine, find_dataflow("ws"), Scope::kTraining, layers);
    kMax.batch(layers, phase, machine, cost);
  }
};

// Both arrays meet after each step, so the times of all steps are the time of the batch. Small
// batches have predictors that are slower than layers, large ones layers that are slower.
TEST(SecondArray, StepsAddUpToTheBatch) {
  for (const Phase phase : {Phase::kBackprop, Phase::kPredict}) {
    for (const int64_t batch : {1, 64}) {
      const MaxBatch run(phase, batch);
      ASSERT_EQ(run.cost.overlaps.size(), run.layers.size());
      int64_t time = 0, busy = 0, alone = 0;
      for (const ArrayOverlap& overlap : run.cost.overlaps) {
        EXPECT_LE(overlap.busy, overlap.time);
        time += overlap.time;
        busy += overlap.busy;
      }
      for (const LayerCost& layer : run.layers) {
        alone += layer.second_forward.total();
        if (phase == Phase::kBackprop) alone += layer.second_backward.total();
      }
      EXPECT_EQ(time, run.cost.cycles.total());
      EXPECT_EQ(busy, alone);
      EXPECT_EQ(run.cost.second.busy, alone);
    }
  }
}

TEST(SecondArray, WordsAndEnergyAreThoseOfThePredictor) {
  const MaxBatch run(Phase::kBackprop, 4);
  double words = 0, macs = 0;
  for (const LayerCost& layer : run.layers) {
    for (const PassCost* pass : {&layer.second_forward, &layer.second_backward}) {
      words += static_cast<double>(pass->sram.total());
      macs += static_cast<double>(pass->macs);
    }
  }
  EXPECT_EQ(run.cost.second.sram_words, words);
  EXPECT_EQ(run.cost.second.macs, macs);
  EXPECT_GT(macs, 0);
  EXPECT_EQ(run.cost.second.dram_words, 0);  // weights and samples of the predictor are on chip
  EXPECT_DOUBLE_EQ(run.cost.second.energy, run.cost.energy_predictor.total());
}

TEST(SecondArray, OtherDesignsHaveNone) {
  const MaxBatch run(Phase::kBackprop, 4);
  BatchCost efficient;
  kEfficient.batch(run.layers, Phase::kBackprop, {}, efficient);
  EXPECT_EQ(efficient.second.busy, 0);
  EXPECT_TRUE(efficient.overlaps.empty());
}

TEST(BufferEnergy, IsCactisAtItsSizesAndBetweenThemElsewhere) {
  int compared = 0;
  double before = 0, size_before = 0;
  for (const auto& row : test::golden("cacti_45nm.csv")) {
    if (row.at("kind") != "SRAM" || row.at("config") != "accelergy_lstp_300K" ||
        row.at("tech_nm") != "45" || row.at("access_bits") != "64") {
      continue;
    }
    const double size = std::stod(row.at("size_bytes"));
    Accelerator machine;
    set_buffer(machine, static_cast<int64_t>(size));
    EXPECT_NEAR(machine.energy.buffer_read_pj, std::stod(row.at("read_pJ_per_16b")), 1e-9);
    EXPECT_NEAR(machine.energy.buffer_write_pj, std::stod(row.at("write_pJ_per_16b")), 1e-9);
    EXPECT_NEAR(machine.energy.buffer_leakage_mw, std::stod(row.at("leakage_mW")), 1e-12);
    EXPECT_EQ(machine.buffer_bytes, static_cast<int64_t>(size));
    const double read = machine.energy.buffer_read_pj;
    if (compared > 0) {
      machine.word_bytes = 4;  // a word of 32 bits is two of 16
      set_buffer(machine, static_cast<int64_t>((size + size_before) / 2));
      EXPECT_GT(machine.energy.buffer_read_pj, 2 * before);
      EXPECT_LT(machine.energy.buffer_read_pj, 2 * read);
    }
    before = read;
    size_before = size;
    ++compared;
  }
  EXPECT_EQ(compared, 8);
  Accelerator machine;
  EXPECT_THROW(set_buffer(machine, 511), UsageError);
  EXPECT_THROW(set_buffer(machine, 2097153), UsageError);
}

}  // namespace
}  // namespace adagp::accel

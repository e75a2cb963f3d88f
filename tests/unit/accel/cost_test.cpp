// Every part of a layer's cost, counted by hand.
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/sim/accel/cost.h"
#include "unit/accel/networks.h"

namespace adagp::accel {
namespace {

std::vector<LayerCost> costs_of(const std::vector<layers::Row>& rows, int64_t batch,
                                const Accelerator& accelerator) {
  PlanOptions options;
  options.batch = batch;
  std::vector<LayerCost> out;
  evaluate(make_plan({"test", "made up", rows}, options), accelerator, kWeightStationary,
           Scope::kTraining, out);
  return out;
}

Accelerator one_lane() {
  Accelerator a;
  a.vector_lanes = 1;  // cycles are elements times passes
  a.predictor_array.rows = a.predictor_array.columns = 1;
  return a;
}

struct OpPasses {
  const char* op;
  int64_t forward, backward;
};

TEST(LayerCosts, PassesOfEveryVectorOperation) {
  for (const OpPasses& p :
       {OpPasses{"batch_norm", 2, 2}, OpPasses{"layer_norm", 2, 2}, OpPasses{"softmax", 3, 2},
        OpPasses{"activation", 1, 1}, OpPasses{"add", 1, 0}, OpPasses{"pool", 1, 1},
        OpPasses{"concat", 0, 0}, OpPasses{"embedding", 1, 1}}) {
    const auto costs = costs_of({test::conv("a", 3, 4, 5, 3, 1, 1),
                                 test::vector_row("v", p.op, 5, 4), test::linear("b", 80, 2)},
                                3, one_lane());
    EXPECT_EQ(costs[1].forward.vector, p.forward * 3 * 80) << p.op;
    EXPECT_EQ(costs[1].vector_backward.vector, p.backward * 3 * 80) << p.op;
  }
}

TEST(LayerCosts, UpdatesOfABackpropAndAPredictedBatch) {
  layers::Row norm = test::vector_row("norm", "batch_norm", 5, 4);
  norm.weights = norm.bias = 5;
  layers::Row conv = test::conv("a", 3, 4, 5, 3, 1, 1);
  conv.bias = 5;
  const auto costs = costs_of({conv, norm}, 3, one_lane());
  EXPECT_EQ(costs[0].update_backprop.vector, 5 * 27 + 5);
  EXPECT_EQ(costs[0].update_backprop.dram_reads, 2 * (5 * 27 + 5));  // weights and gradients
  EXPECT_EQ(costs[0].update_backprop.dram_writes, 5 * 27 + 5);
  EXPECT_EQ(costs[0].update_predict.vector, 5 * 27);  // biases and norms rest
  EXPECT_EQ(costs[0].update_predict.dram_reads, 5 * 27);
  EXPECT_EQ(costs[1].update_backprop.vector, 10);
  EXPECT_EQ(costs[1].update_predict.vector, 0);
}

TEST(LayerCosts, PredictorOnBothArrays) {
  Accelerator a = one_lane();
  const auto costs = costs_of({test::conv("a", 3, 4, 5, 3, 1, 1), test::linear("b", 80, 2)}, 3, a);
  const LayerCost& first = costs[0];  // 5 samples, 27 weights each
  const int64_t activations = 5 * 16 * 8 * 8;
  const int64_t whole_predictor = 9 * 16 + 256 * 80;
  EXPECT_EQ(first.predictor_forward.vector, 3 * 5 * 16 + activations);
  EXPECT_EQ(first.predictor_backward.vector, activations + 5 * 27 + whole_predictor);
  // One PE: a product of (M, K, N) takes K*N folds of M + 2 + 1 - 2 cycles.
  EXPECT_EQ(first.second_forward.array, 9 * 16 * (5 * 64 + 1) + 256 * 27 * (5 + 1));
  EXPECT_EQ(first.second_backward.array,
            5 * 64 * 16 * (9 + 1) + 27 * 256 * (5 + 1) + 5 * 27 * (256 + 1));
  EXPECT_EQ(first.predictor_forward.macs, 5 * 64 * 9 * 16 + 5 * 256 * 27);
  EXPECT_EQ(first.predictor_backward.macs, 5 * 64 * 9 * 16 + 2 * 5 * 256 * 27);
  EXPECT_EQ(first.predictor_forward.dram_reads + first.predictor_forward.dram_writes, 0);
  EXPECT_EQ(first.swap_in, 9 * 16 + 256 * 27);
  EXPECT_EQ(first.swap_out_predict, 5 * 27);

  // A memory of 4,000 words of two bytes.
  EXPECT_EQ(first.reload, 0);
  a.predictor_memory_bytes = 8001;
  const auto bounded =
      costs_of({test::conv("a", 3, 4, 5, 3, 1, 1), test::linear("b", 80, 2)}, 3, a);
  EXPECT_EQ(bounded[0].reload, 9 * 16 + 256 * 27 - 4000);
  EXPECT_EQ(bounded[1].reload, whole_predictor - 4000);
  a.predictor_memory_bytes = 0;
  EXPECT_EQ(costs_of({test::linear("b", 1 << 20, 2)}, 3, a)[0].reload, 0);

  a.predictor_full_width = true;
  a.predictor_reorganise = false;
  const auto full = costs_of({test::conv("a", 3, 4, 5, 3, 1, 1), test::linear("b", 80, 2)}, 3, a);
  EXPECT_EQ(full[0].predictor_forward.macs, 5 * 64 * 9 * 16 + 5 * 256 * 80);
  EXPECT_EQ(full[0].predictor_forward.vector, activations);
  EXPECT_EQ(full[0].swap_in, whole_predictor);
}

// remap: four convolutions of F channels on 4x4 pixels with batch norm over all samples, then the
// mean of the samples through the FC, as predictor/remap.cpp computes it.
TEST(LayerCosts, RemapPredictor) {
  PlanOptions options;
  options.predictor.kind = "remap";
  options.predictor.remap_channels = 6;
  options.predictor.remap_outputs = 100;
  options.batch = 3;
  std::vector<layers::Row> rows = {test::conv("a", 3, 4, 5, 3, 1, 1), test::linear("b", 80, 2)};
  rows[0].bias = 5;
  std::vector<LayerCost> costs;
  evaluate(make_plan({"test", "made up", rows}, options), one_lane(), kWeightStationary,
           Scope::kTraining, costs);
  const int64_t pixels = 5 * 4 * 4, features = 6 * 4 * 4;                 // five samples
  const int64_t conv_weights = 9 * (6 + 3 * 6 * 6), fc = features * 100;  // 5 * 27 weights are more
  const int64_t convolutions = pixels * conv_weights;
  EXPECT_EQ(costs[0].predictor_forward.macs, convolutions + fc);
  // Weight gradients of all, input gradients of all but the first convolution.
  EXPECT_EQ(costs[0].predictor_backward.macs,
            convolutions + fc + (convolutions - pixels * 9 * 6) + fc);
  EXPECT_EQ(costs[0].swap_in, conv_weights + fc);
  // ReLU and the norm's two passes; the mean of the samples. Before them the mean of three examples
  // and its maxima; behind them the errors of weights and biases, and Adam.
  const int64_t passes = 3 * 4 * 6 * pixels + 5 * features;
  EXPECT_EQ(costs[0].predictor_forward.vector, (3 + 1) * 5 * 16 + passes);
  EXPECT_EQ(costs[0].predictor_backward.vector, passes + 5 * 27 + 5 + conv_weights + fc);
  EXPECT_EQ(costs[0].update_predict.vector, 5 * 27 + 5);
  // Of a linear layer one sample, 3 x 2 numbers whose maxima are taken at once.
  EXPECT_EQ(costs[1].predictor_forward.macs, 16 * conv_weights + fc);
  EXPECT_EQ(costs[1].predictor_forward.vector, 3 * 2 + 3 * 4 * 6 * 16 + features);

  options.predictor.summary = 3;  // is that of other kinds
  EXPECT_EQ(macs(make_plan({"test", "made up", rows}, options).layers[0].predictor.forward[0]),
            pixels * 9 * 6);
}

// The term project's sizes: rows of 4x4 pixels through 64 channels, 9 * (64 + 3 * 64 * 64) =
// 111,168 weights; FC 1024 x 10,000.
TEST(LayerCosts, RemapPredictorOfTheTermProject) {
  PlanOptions options;
  options.predictor.kind = "remap";
  const Plan plan = make_plan(
      {"test", "made up", {test::conv("a", 64, 8, 128, 3, 1, 1), test::linear("b", 4096, 10)}},
      options);
  const auto sum = [](const std::vector<Work>& works) {
    int64_t all = 0;
    for (const Work& work : works) all += macs(work);
    return all;
  };
  const int64_t row = 16 * 111'168, fc = 1024 * 10'000, first = 16 * 9 * 64;
  EXPECT_EQ(sum(plan.layers[0].predictor.forward), 128 * row + fc);
  EXPECT_EQ(sum(plan.layers[0].predictor.backward), 2 * (128 * row + fc) - 128 * first);
  EXPECT_EQ(sum(plan.layers[1].predictor.forward), row + fc);
  EXPECT_EQ(sum(plan.layers[1].predictor.backward), 2 * (row + fc) - first);
  EXPECT_EQ(plan.predictor_weights, 111'168 + 10'240'000);
}

TEST(LayerCosts, SumsThatComeBackAreReadFromTheBuffer) {
  const Accelerator a;
  const Work work = gemm_work({10, 30, 15});  // three folds along K: each sum comes back twice
  const PassCost cost = product_cost(work, a.array, kWeightStationary, a);
  EXPECT_EQ(cost.sram.ofmap, 3 * 150);
  EXPECT_EQ(cost.sram.sums, 2 * 150);
  const double reads = 300 + 450 + 2 * 150 + 150;  // X, W, sums; Y leaves for DRAM
  const double writes = 3 * 150 + 300 + 450;       // sums and Y; X and W arrive
  // Sums of eight doubles: the last bits depend on their order.
  EXPECT_NEAR(cost.energy.buffer * 1e12,
              reads * a.energy.buffer_read_pj + writes * a.energy.buffer_write_pj, 1e-6);
}

TEST(LayerCosts, RepeatedLayersCostWhatTheirFirstCosts) {
  const auto rows = test::resnet50().rows;
  const Accelerator a;
  const auto together = costs_of(rows, 2, a);
  for (size_t i = 1; i + 1 < rows.size(); ++i) {
    // The layer between two others that do not repeat it.
    const auto alone = costs_of({rows[0], rows[i], test::linear("fc", 2048, 1000)}, 2, a);
    EXPECT_EQ(alone[1].forward.array, together[i].forward.array) << rows[i].name;
    EXPECT_EQ(alone[1].backward().total(), together[i].backward().total()) << rows[i].name;
    EXPECT_EQ(alone[1].second_forward.total(), together[i].second_forward.total()) << rows[i].name;
  }
}

}  // namespace
}  // namespace adagp::accel

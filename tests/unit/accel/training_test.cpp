// Training steps, designs and whole runs, against numbers worked out by hand.
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/sim/accel/simulate.h"
#include "unit/accel/networks.h"

namespace adagp::accel {
namespace {

using schedule::Phase;

void expect_gemm(const Work& work, int64_t m, int64_t k, int64_t n) {
  EXPECT_EQ(work.gemm.m, m);
  EXPECT_EQ(work.gemm.k, k);
  EXPECT_EQ(work.gemm.n, n);
}

Plan plan_of(const std::vector<layers::Row>& rows, int64_t batch, bool vector_passes = true) {
  PlanOptions options;
  options.batch = batch;
  options.vector_passes = vector_passes;
  return make_plan({"test", "made up", rows}, options);
}

TEST(Passes, ThreeProductsOfAConvolution) {
  const Plan plan = plan_of(
      {test::conv("first", 3, 8, 16, 3, 1, 1), test::conv("second", 16, 8, 32, 3, 2, 1, 4)}, 5);
  EXPECT_FALSE(plan.layers[0].input_gradient.has_value());  // nothing before it learns
  const LayerPlan& second = plan.layers[1];
  expect_gemm(second.forward, 5 * 4 * 4, 4 * 9, 8);
  expect_gemm(*second.input_gradient, 5 * 4 * 4, 8, 4 * 9);
  expect_gemm(*second.weight_gradient, 4 * 9, 5 * 4 * 4, 8);
  for (const Work& w : {second.forward, *second.input_gradient, *second.weight_gradient}) {
    EXPECT_EQ(w.groups, 4);
    EXPECT_EQ(macs(w), 5 * test::conv("second", 16, 8, 32, 3, 2, 1, 4).macs);
  }
  EXPECT_EQ(second.forward.tensors.input, 5 * 16 * 8 * 8);
  EXPECT_EQ(second.forward.tensors.filter, 32 * 4 * 9);
  EXPECT_EQ(second.forward.tensors.output, 5 * 32 * 4 * 4);
  EXPECT_EQ(second.weight_gradient->tensors.output, 32 * 4 * 9);
  EXPECT_EQ(second.update_backprop, 32 * 4 * 9);
}

// Dilation changes which pixels a window sees, not the products.
TEST(Passes, ADilatedConvolutionIsThePlainOneOfItsOutput) {
  layers::Row dilated = test::conv("a", 3, 8, 4, 3, 1, 2);
  dilated.dilation = {2, 2};
  dilated.output = {4, 8, 8};
  layers::complete(dilated);
  const layers::Row plain = test::conv("a", 3, 8, 4, 3, 1, 1);
  const Work work = forward_work(dilated, 5), same = forward_work(plain, 5);
  EXPECT_EQ(work.gemm, same.gemm);
  EXPECT_EQ(work.tensors, same.tensors);
  EXPECT_EQ(work.conv.halo, 5 - 1);  // rows that the windows of two neighbouring outputs share
  EXPECT_EQ(input_gradient_work(work, dilated).gemm, input_gradient_work(same, plain).gemm);
  EXPECT_EQ(weight_gradient_work(work, dilated).gemm, weight_gradient_work(same, plain).gemm);
  dilated.output = {4, 9, 8};
  EXPECT_THROW(forward_work(dilated, 5), DataError);
}

// One channel of three frames of one pixel, a kernel over two frames: y0 = a x0 + b x1,
// y1 = a x1 + b x2.
TEST(Passes, ThreeProductsOfTheSmallestFilm) {
  layers::Row row;
  row.name = "film";
  row.op = "conv3d";
  row.input = row.output = {1, 1, 1};
  row.depth = {3, 2, 2, 1, 0, 1};
  layers::complete(row);
  const Work forward = forward_work(row, 1);
  expect_gemm(forward, 2, 2, 1);
  expect_gemm(input_gradient_work(forward, row), 2, 1, 2);
  expect_gemm(weight_gradient_work(forward, row), 2, 2, 1);
  EXPECT_EQ(forward.tensors, (Tensors{3, 2, 2}));
  EXPECT_EQ(input_gradient_work(forward, row).tensors, (Tensors{2, 2, 3}));
  EXPECT_EQ(weight_gradient_work(forward, row).tensors, (Tensors{3, 2, 2}));
  EXPECT_EQ(macs(forward), row.macs);
  EXPECT_EQ(macs(forward), 4);
  // Row stationary: an image per output frame, a channel per frame of the kernel.
  EXPECT_EQ(forward.conv.batch, 2);
  EXPECT_EQ(forward.conv.channels, 2);
  const Plan plan = plan_of({row, test::linear("fc", 2, 2)}, 3);
  EXPECT_EQ(plan.layers[0].kept_words, 3 * 2);
  EXPECT_EQ(plan.layers[0].predictor.weights, 9 * 16 + 256 * 2);
}

// One channel, 2x2 pixels become 4x4: every pixel times every one of 2x2 weights.
TEST(Passes, ATransposedConvolutionIsTheGradientOfAPlainOne) {
  layers::Row up;
  up.name = "up";
  up.op = "conv_transpose";
  up.input = {3, 2, 2};
  up.output = {2, 4, 4};
  up.kernel = up.stride = {2, 2};
  layers::complete(up);
  const Plan plan = plan_of({test::conv("a", 3, 2, 3, 1, 1, 0), up}, 5);
  const LayerPlan& layer = plan.layers[1];
  // X [pixels, 3] x W [3, 2 * 4]; dY [pixels, 8] x W^T [8, 3]; X^T [3, pixels] x dY [pixels, 8].
  expect_gemm(layer.forward, 5 * 4, 3, 8);
  expect_gemm(*layer.input_gradient, 5 * 4, 8, 3);
  expect_gemm(*layer.weight_gradient, 3, 5 * 4, 8);
  EXPECT_EQ(layer.forward.tensors, (Tensors{5 * 3 * 4, 24, 5 * 2 * 16}));
  EXPECT_EQ(layer.input_gradient->tensors, (Tensors{5 * 2 * 16, 24, 5 * 3 * 4}));
  EXPECT_EQ(layer.weight_gradient->tensors, (Tensors{5 * 3 * 4, 5 * 2 * 16, 24}));
  for (const Work& w : {layer.forward, *layer.input_gradient, *layer.weight_gradient}) {
    EXPECT_EQ(macs(w), 5 * up.macs);
  }
  EXPECT_EQ(up.macs, 4 * 3 * 2 * 4);
  // The plain convolution from 4x4 to 2x2, whose three products on rows these are.
  const layers::Row down = test::conv("down", 2, 4, 3, 2, 2, 0);
  const Work plain = forward_work(down, 5);
  EXPECT_EQ(layer.forward.conv, input_gradient_work(plain, down).conv);
  EXPECT_EQ(layer.input_gradient->conv, plain.conv);
  EXPECT_EQ(layer.weight_gradient->conv, weight_gradient_work(plain, down).conv);
  EXPECT_EQ(layer.predictor.weights, 9 * 16 + 256 * 3 * 4);
}

layers::Row attention_scores() {
  layers::Row row;  // two heads: [7, 8] x [8, 7] each
  row.name = "scores";
  row.op = "matmul";
  row.input = {2 * 8, 1, 7};
  row.output = {2 * 7, 1, 7};
  row.groups = 2;
  layers::complete(row);
  return row;
}

TEST(Passes, AttentionProductsHaveTwoInputGradientsAndNoPredictor) {
  layers::Row embedding = test::vector_row("embedding", "embedding", 16, 1);
  embedding.weights = 1000;
  const Plan plan = plan_of({embedding, test::linear("query", 16, 16, 7), attention_scores()}, 3);
  EXPECT_TRUE(plan.layers[1].input_gradient.has_value());  // the embedding learns
  const LayerPlan& scores = plan.layers[2];
  EXPECT_FALSE(scores.weighted);
  EXPECT_TRUE(scores.predictor.forward.empty());
  EXPECT_EQ(scores.forward.groups, 3 * 2);  // no example shares an operand with another
  expect_gemm(scores.forward, 7, 8, 7);
  expect_gemm(*scores.input_gradient, 7, 7, 8);
  expect_gemm(*scores.weight_gradient, 8, 7, 7);
  EXPECT_EQ(scores.forward.tensors.filter, 3 * 2 * 8 * 7);
  EXPECT_EQ(scores.update_backprop, 0);
  EXPECT_EQ(macs(scores.forward), 3 * attention_scores().macs);
}

TEST(Passes, AWeightLayerUsedTwiceIsUpdatedAndPredictedOnce) {
  const Plan plan =
      plan_of({test::linear("a", 8, 8), test::linear("b", 8, 8), test::linear("b#2", 8, 8)}, 2);
  EXPECT_TRUE(plan.layers[1].weighted);
  EXPECT_FALSE(plan.layers[2].weighted);
  EXPECT_EQ(plan.layers[2].update_backprop, 0);
  EXPECT_TRUE(plan.layers[2].weight_gradient.has_value());
}

// A frozen convolution, its norm, the pooled map that feeds a trained one, and another trained one.
TEST(Passes, FrozenRowsRunForwardAlone) {
  layers::Row pool = test::vector_row("a/pool", "pool", 64, 4);
  std::vector<layers::Row> rows{
      test::conv("a", 3, 8, 64, 5, 1, 2), test::vector_row("a/norm", "batch_norm", 64, 8), pool,
      test::conv("b", 64, 4, 6, 1, 1, 0), test::conv("c", 6, 4, 5, 3, 1, 1)};
  rows[1].weights = rows[1].bias = 64;
  const Plan trained = plan_of(rows, 2);
  for (size_t i = 0; i < 3; ++i) rows[i].frozen = 1;
  const Plan plan = plan_of(rows, 2);
  for (size_t i = 0; i < 3; ++i) {
    const LayerPlan& layer = plan.layers[i];
    EXPECT_TRUE(layer.frozen);
    EXPECT_FALSE(layer.weighted || layer.input_gradient || layer.weight_gradient) << layer.name;
    EXPECT_EQ(layer.vector_backward + layer.update_backprop + layer.update_predict, 0);
    EXPECT_EQ(layer.vector_forward, trained.layers[i].vector_forward);
    EXPECT_EQ(layer.forward, trained.layers[i].forward);
  }
  EXPECT_FALSE(plan.layers[3].input_gradient);  // nothing before it learns
  EXPECT_TRUE(plan.layers[3].weight_gradient && plan.layers[4].input_gradient);
  EXPECT_EQ(plan.predictor_weights, 9 * 16 + 256 * 64);  // the widest that is predicted: b
  EXPECT_EQ(trained.predictor_weights, 9 * 16 + 256 * 75);
  // Kept: the pooled map and what the trained layers write.
  EXPECT_EQ(peak_words_backprop(plan), 2 * 16 * (64 + 6 + 5));
}

TEST(Predictor, ProductsOfTheSharedNetwork) {
  const Plan plan =
      plan_of({test::conv("a", 3, 32, 64, 3, 1, 1), test::conv("b", 64, 32, 128, 3, 1, 1)}, 4);
  const PredictorPlan& p = plan.layers[0].predictor;  // 64 samples, 27 weights per filter
  ASSERT_EQ(p.forward.size(), 2U);
  expect_gemm(p.forward[0], 64 * 8 * 8, 9, 16);
  expect_gemm(p.forward[1], 64, 256, 27);
  ASSERT_EQ(p.backward.size(), 3U);
  expect_gemm(p.backward[0], 9, 64 * 8 * 8, 16);
  expect_gemm(p.backward[1], 64, 27, 256);
  expect_gemm(p.backward[2], 256, 64, 27);
  expect_gemm(p.forward_full[1], 64, 256, 576);  // as wide as the widest layer
  EXPECT_EQ(p.weights, 9 * 16 + 256 * 27);
  EXPECT_EQ(plan.predictor_weights, 9 * 16 + 256 * 576);
  EXPECT_EQ(p.reorganised, 4 * 64 * 32 * 32);
}

// Fig. 6's order: the 8x8 summary is pooled to 4x4 before the convolution.
TEST(Predictor, PoolingFirstMakesTheConvolutionSmaller) {
  const layers::Table table{"n", "x", {test::conv("a", 3, 32, 64, 3, 1, 1)}};
  PlanOptions options;
  const PredictorPlan usual = make_plan(table, options).layers[0].predictor;
  options.predictor.order = "pool-conv";
  const PredictorPlan p = make_plan(table, options).layers[0].predictor;
  expect_gemm(p.forward[0], 64 * 4 * 4, 9, 16);
  expect_gemm(p.backward[0], 9, 64 * 4 * 4, 16);
  EXPECT_EQ(p.forward[1], usual.forward[1]);
  EXPECT_EQ(p.weights, usual.weights);
  // ReLU over the smaller map, and the pooling is a pass over the summary.
  EXPECT_EQ(usual.vector_forward, 64 * 16 * 8 * 8);
  EXPECT_EQ(p.vector_forward, 64 * (16 * 4 * 4 + 8 * 8));
  options.predictor.order = "conv-conv";
  EXPECT_THROW(make_plan(table, options), UsageError);
}

// Fig. 5b's steps: the optimizer passes over all weights of the predictor once for each layer.
TEST(Predictor, StepsPerLayerAreAdamStepsInEveryLayer) {
  const layers::Table table{
      "n", "x", {test::conv("a", 3, 32, 64, 3, 1, 1), test::conv("b", 64, 32, 128, 3, 1, 1)}};
  PlanOptions options;
  const Plan joint = make_plan(table, options);
  options.predictor.steps = "per-layer";
  const Plan each = make_plan(table, options);
  EXPECT_EQ(each.layers[0].predictor, joint.layers[0].predictor);
  EXPECT_EQ(each.layers[1].predictor.vector_backward,
            joint.layers[1].predictor.vector_backward + joint.predictor_weights);
}

TEST(VectorPasses, ElementsTimesPassesOverLanes) {
  const Plan plan =
      plan_of({test::conv("a", 3, 8, 4, 3, 1, 1), test::vector_row("a/norm", "batch_norm", 4, 8),
               test::vector_row("a/relu", "activation", 4, 8)},
              10);
  Accelerator accelerator;
  std::vector<LayerCost> costs;
  evaluate(plan, accelerator, kWeightStationary, Scope::kTraining, costs);
  const int64_t elements = 10 * 4 * 8 * 8;
  EXPECT_EQ(costs[1].forward.vector, (2 * elements + 179) / 180);
  EXPECT_EQ(costs[2].forward.vector, (elements + 179) / 180);
  EXPECT_EQ(costs[1].forward.array, 0);
  // The last row carries the loss: four passes over its output.
  EXPECT_EQ(costs[2].vector_backward.vector, (5 * elements + 179) / 180);
  accelerator.vector_lanes = 7;
  evaluate(plan, accelerator, kWeightStationary, Scope::kTraining, costs);
  EXPECT_EQ(costs[1].forward.vector, (2 * elements + 6) / 7);
}

TEST(PeakActivations, BackpropKeepsWhatPredictionDrops) {
  const Plan plan =
      plan_of({test::conv("a", 3, 8, 4, 3, 1, 1), test::vector_row("a/norm", "batch_norm", 4, 8),
               test::vector_row("a/relu", "activation", 4, 8), test::conv("b", 4, 8, 6, 3, 2, 1)},
              2);
  EXPECT_EQ(peak_words_backprop(plan), 2 * (3 * 64 + 4 * 64 + 4 * 64 + 6 * 16));
  EXPECT_EQ(peak_words_forward(plan), 2 * (4 * 64 + 4 * 64));
}

// ---- designs, on costs made up so that every sum is plain

LayerCost layer(int64_t forward, int64_t dx, int64_t dw, int64_t predictor, int64_t second) {
  LayerCost cost;
  cost.weighted = true;
  cost.forward.array = forward;
  cost.input_gradient.array = dx;
  cost.weight_gradient.array = dw;
  cost.predictor_forward.array = predictor;
  cost.predictor_backward.array = 2 * predictor;
  cost.second_forward.array = second;
  cost.second_backward.array = 2 * second;
  return cost;
}

int64_t batch_cycles(const Design& design, const std::vector<LayerCost>& layers, Phase phase,
                     const Accelerator& accelerator = {}) {
  BatchCost out;
  design.batch(layers, phase, accelerator, out);
  return out.cycles.total();
}

TEST(Designs, FourWaysToSpendTheSameWork) {
  std::vector<LayerCost> layers = {layer(100, 0, 90, 10, 30), layer(200, 210, 190, 20, 150),
                                   layer(50, 60, 40, 5, 7)};
  for (LayerCost& l : layers) {
    l.swap_in = l.swap_out_backprop = 150;
    l.swap_out_predict = 31;
  }
  const int64_t fw = 350, bw = 590;
  EXPECT_EQ(batch_cycles(kBaseline, layers, Phase::kBackprop), fw + bw);
  EXPECT_EQ(batch_cycles(kEfficient, layers, Phase::kPredict), fw + 35);
  EXPECT_EQ(batch_cycles(kEfficient, layers, Phase::kBackprop), fw + bw + 3 * 35);
  // 15 columns: 150 words in 10 cycles, 31 in 3.
  EXPECT_EQ(batch_cycles(kLow, layers, Phase::kPredict), fw + 35 + 3 * (10 + 3));
  EXPECT_EQ(batch_cycles(kLow, layers, Phase::kBackprop), fw + bw + 105 + 3 * (10 + 20));
  // max: steps max(100, -), max(200, 30), max(50, 150), then 7 alone.
  EXPECT_EQ(batch_cycles(kMax, layers, Phase::kPredict), 100 + 200 + 150 + 7);
  // backward, from the last layer: max(100, -), max(400, 14), max(90, 300), then 60 alone.
  EXPECT_EQ(batch_cycles(kMax, layers, Phase::kBackprop),
            (100 + 200 + 150 + 7) + (100 + 400 + 300 + 60));
  Accelerator slow;
  slow.swap_words_per_cycle = 0.5;
  EXPECT_EQ(batch_cycles(kLow, layers, Phase::kPredict, slow), fw + 35 + 3 * (300 + 62));
}

TEST(Designs, WeightsBeyondThePredictorsMemoryAreLoadedEachTimeAndStoredAfterTraining) {
  std::vector<LayerCost> layers = {layer(100, 0, 90, 10, 30), layer(200, 210, 190, 20, 150),
                                   layer(50, 60, 40, 5, 7)};
  layers[1].reload = 151;  // 15 columns: 11 cycles, and in and out 21
  const int64_t fw = 350, bw = 590;
  EXPECT_EQ(batch_cycles(kEfficient, layers, Phase::kPredict), fw + 35 + 11);
  EXPECT_EQ(batch_cycles(kEfficient, layers, Phase::kBackprop), fw + bw + 3 * 35 + 11 + 21);
  // As above, with 150 + 11 beside the last layer, and 300 + 21 beside the first one's gradients.
  EXPECT_EQ(batch_cycles(kMax, layers, Phase::kPredict), 100 + 200 + 161 + 7);
  EXPECT_EQ(batch_cycles(kMax, layers, Phase::kBackprop),
            (100 + 200 + 161 + 7) + (100 + 400 + 321 + 60));
  BatchCost max, efficient;
  kMax.batch(layers, Phase::kBackprop, {}, max);
  kEfficient.batch(layers, Phase::kBackprop, {}, efficient);
  EXPECT_EQ(max.second.dram_words, 3 * 151);
  // Three transfers of 16-bit words at 8 pJ/bit; each is written to or read from the buffer once.
  const EnergyTable table;
  const double joules = 151e-12 * (3 * 16 * 8.0 + 2 * table.buffer_write_pj + table.buffer_read_pj);
  EXPECT_DOUBLE_EQ(max.energy_predictor.total(), joules);
  EXPECT_DOUBLE_EQ(efficient.energy_predictor.total(), joules);
  EXPECT_DOUBLE_EQ(max.second.energy, joules);
}

TEST(Designs, MaxHidesThePredictorBehindAllRowsUpToTheNextLayer) {
  LayerCost norm;  // no weights: belongs to the step of the layer before it
  norm.forward.vector = 40;
  const std::vector<LayerCost> layers = {layer(100, 0, 0, 0, 70), layer(50, 0, 0, 0, 0), norm};
  EXPECT_EQ(batch_cycles(kMax, layers, Phase::kPredict), 100 + 90);
  const std::vector<LayerCost> without = {layers[0], layers[1]};
  EXPECT_EQ(batch_cycles(kMax, without, Phase::kPredict), 100 + 70);
}

TEST(Designs, NamesAreFoundAndMisspellingsHelped) {
  for (const Design* design : designs()) EXPECT_EQ(&find_design(design->name), design);
  try {
    find_design("eficient");
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean 'efficient'"), std::string::npos);
  }
}

// ---- runs

Run paper_run(int64_t batches) {
  return {schedule::Schedule::parse("paper", 90), 90, batches};
}

TEST(Runs, ThePapersFormulaWhenBackwardIsTwiceForward) {
  const double share = (4 * 0.8 + 4 * 0.75 + 4 * 2.0 / 3 + 68 * 0.5) / 90;
  EXPECT_NEAR(3 / (1 + 2 * (1 - share)), 1.465, 5e-4);  // the published constant
  for (const int64_t alpha_percent : {0, 10, 35, 100}) {
    const double alpha = static_cast<double>(alpha_percent) / 100;
    const std::vector<LayerCost> layers = {layer(700, 700, 700, 7 * alpha_percent, 0),
                                           layer(100, 100, 100, alpha_percent, 0)};
    const accel::Run run = paper_run(60);  // 60 batches are whole cycles of 4:1, 3:1, 2:1 and 1:1
    const auto baseline =
        static_cast<double>(run_design(kBaseline, layers, {}, run).cycles.total());
    const auto ours = static_cast<double>(run_design(kEfficient, layers, {}, run).cycles.total());
    // Whole batches, whole cycles: only rounding of the division is left.
    EXPECT_NEAR(baseline / ours, 3 / (1 + 2 * (1 - share)) / (1 + alpha), 1e-12);
    EXPECT_NEAR(predicted_speedup(2, share, alpha), baseline / ours, 1e-12);
  }
}

TEST(Runs, BatchesByPhaseAreTheSchedules) {
  for (const char* text :
       {"paper", "auto", "bp", "3ep bp, 2ep 4:1, 1:1", "gp", "2ep 1:1, 3ep bp"}) {
    const accel::Run run{schedule::Schedule::parse(text, 12), 12, 7};
    PhaseBatches expected;
    bool warming = true;
    for (int64_t epoch = 0; epoch < run.epochs; ++epoch) {
      int64_t predicted = 0;
      for (int64_t batch = 0; batch < run.batches_per_epoch; ++batch) {
        predicted += run.schedule.at(epoch, batch) == Phase::kPredict ? 1 : 0;
      }
      warming = warming && predicted == 0;
      (warming ? expected.warm_up : expected.backprop) += run.batches_per_epoch - predicted;
      expected.predict += predicted;
    }
    const PhaseBatches got = count_batches(run);
    EXPECT_EQ(got.warm_up, expected.warm_up) << text;
    EXPECT_EQ(got.backprop, expected.backprop) << text;
    EXPECT_EQ(got.predict, expected.predict) << text;
  }
}

TEST(Runs, TotalsAreBatchesTimesTheirCost) {
  const Plan plan = plan_of(test::vgg13_cifar().rows, 128);
  const Accelerator accelerator;
  const accel::Run run = paper_run(391);
  const TrainingResult result =
      simulate_training(plan, accelerator, kWeightStationary, designs(), run);
  const PhaseBatches batches = count_batches(run);
  for (const DesignResult& d : result.designs) {
    const int64_t exact = d.design->predicts ? batches.warm_up + batches.backprop : 90 * 391;
    const int64_t predicted = d.design->predicts ? batches.predict : 0;
    EXPECT_EQ(d.cycles.total(),
              d.backprop.cycles.total() * exact + d.predict.cycles.total() * predicted);
    const auto total = static_cast<double>(d.cycles.total());
    EXPECT_DOUBLE_EQ(d.speedup, static_cast<double>(result.baseline.cycles.total()) / total);
    EXPECT_DOUBLE_EQ(d.seconds, total / 200e6);
  }
  // Each design spends hardware to save time.
  EXPECT_GT(result.designs[2].speedup, result.designs[1].speedup);
  EXPECT_GT(result.designs[3].speedup, result.designs[2].speedup);
  EXPECT_LT(result.peak_predict_bytes, result.peak_backprop_bytes);
}

}  // namespace
}  // namespace adagp::accel

#include "adagp/results/report/roofline.h"

#include <cmath>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"

namespace adagp::report {
namespace {

layers::Row roofline_row(const char* name, const char* op, std::array<int64_t, 3> input,
                         std::array<int64_t, 3> output) {
  layers::Row row;
  row.name = name;
  row.op = op;
  row.input = input;
  row.output = output;
  return row;
}

// conv 3 -> 4 (3x3, no bias), norm, ReLU, pool 8x8 -> 4x4, linear 64 -> 10.
layers::Table small_network() {
  layers::Table table{"small", "8x8", {}};
  layers::Row conv = roofline_row("conv", "conv2d", {3, 8, 8}, {4, 8, 8});
  conv.kernel = {3, 3};
  conv.padding = {1, 1};
  layers::Row norm = roofline_row("conv/norm", "batch_norm", {4, 8, 8}, {4, 8, 8});
  norm.weights = norm.bias = 4;
  layers::Row linear = roofline_row("fc", "linear", {64, 1, 1}, {10, 1, 1});
  linear.bias = 10;
  table.rows = {conv, norm, roofline_row("conv/relu", "activation", {4, 8, 8}, {4, 8, 8}),
                roofline_row("conv/pool", "pool", {4, 8, 8}, {4, 4, 4}), linear};
  for (layers::Row& row : table.rows) complete(row);
  return table;
}

WorkOptions two_examples() {
  WorkOptions options;
  options.batch = 2;
  return options;
}

KindTotal total_of(const WorkOptions& options, Step step, Kind kind) {
  const auto work = step_work(small_network(), options, step);
  return at_limit(step, work, {1, 1}).kinds[static_cast<size_t>(kind)];
}

// By hand, for two examples in fp32. Elements: image 2*3*64 = 384, map 2*4*64 = 512, pooled map
// 2*4*16 = 128, scores 2*10 = 20; weights 4*3*9 = 108 and 640.
TEST(Roofline, ForwardPassEqualsTheHandCount) {
  const WorkOptions o = two_examples();
  const KindTotal conv = total_of(o, Step::kForward, Kind::kConvolution);
  EXPECT_EQ(conv.flops, 2 * 108 * 64 * 2);  // each weight meets each of 64 pixels, twice
  EXPECT_EQ(conv.bytes, 4 * (384 + 108 + 512));
  const KindTotal linear = total_of(o, Step::kForward, Kind::kLinear);
  EXPECT_EQ(linear.flops, 2 * 640 * 2);
  EXPECT_EQ(linear.bytes, 4 * (128 + 640 + 20));
  // Read for the statistics, read again, written.
  EXPECT_EQ(total_of(o, Step::kForward, Kind::kNorm).bytes, 4 * 3 * 512);
  // ReLU: read and written; pool: read, written at a quarter of the size.
  EXPECT_EQ(total_of(o, Step::kForward, Kind::kElementwise).bytes, 4 * (2 * 512 + 512 + 128));
  for (const Kind kind : {Kind::kOptimizer, Kind::kPredictor, Kind::kSummaries, Kind::kOther}) {
    EXPECT_EQ(total_of(o, Step::kForward, kind).bytes, 0) << name_of(kind);
  }
}

TEST(Roofline, BackpropEqualsTheHandCount) {
  const WorkOptions o = two_examples();
  // The image needs no gradient, so the convolution has two products and the head three.
  const KindTotal conv = total_of(o, Step::kBp, Kind::kConvolution);
  EXPECT_EQ(conv.flops, 2 * (2 * 108 * 64 * 2));
  EXPECT_EQ(conv.bytes, 2 * 4 * (384 + 108 + 512));
  const KindTotal linear = total_of(o, Step::kBp, Kind::kLinear);
  EXPECT_EQ(linear.flops, 3 * (2 * 640 * 2));
  EXPECT_EQ(linear.bytes, 3 * 4 * (128 + 640 + 20));
  // Backward: input and gradient for the sums, both again, the result.
  EXPECT_EQ(total_of(o, Step::kBp, Kind::kNorm).bytes, 4 * (3 * 512 + 5 * 512));
  // Backward of ReLU: gradient, mask, result; of the pool: gradient, result.
  EXPECT_EQ(total_of(o, Step::kBp, Kind::kElementwise).bytes,
            4 * (2 * 512 + 512 + 128) + 4 * (3 * 512 + 128 + 512));
  // SGD with momentum: gradient, weight and momentum in, weight and momentum out. Parameters:
  // 108 + 8 of the norm + 640 + 10.
  EXPECT_EQ(total_of(o, Step::kBp, Kind::kOptimizer).bytes, 4 * 5 * (108 + 8 + 640 + 10));
}

// Maps are read where they are, fused or not: a norm's pass has no maxima. 4x4 numbers for each of
// four channels and for the head.
TEST(Roofline, SummariesOfRemapEqualTheHandCount) {
  WorkOptions o = two_examples();
  o.predictor.kind = "remap";
  for (const bool fused : {false, true}) {
    o.fused = fused;
    EXPECT_EQ(total_of(o, Step::kGp, Kind::kSummaries).bytes, 4 * (512 + 20 + 5 * 16)) << fused;
  }
}

TEST(Roofline, PredictorAndSummariesEqualTheHandCount) {
  WorkOptions o = two_examples();
  o.predictor.summary = 2;
  o.predictor.channels = 3;
  o.predictor.pooled = 1;
  // Maps of both layers are read; 4 + 10 filters with 2*2 numbers each are written.
  EXPECT_EQ(total_of(o, Step::kGp, Kind::kSummaries).bytes, 4 * (512 + 20 + 14 * 4));
  // A convolution of 9 weights with 3 channels on 4 pixels of 14 filters; 3 features for each of
  // 748 weights.
  const KindTotal gp = total_of(o, Step::kGp, Kind::kPredictor);
  EXPECT_EQ(gp.flops, 2 * (9 * 3 * 4 * 14 + 3 * 748));
  // Summaries in; features out and in; its parameters: 64 columns (the widest row of the head has
  // 64 weights) of 3 weights and a bias, 3 * 9 weights and 3 biases of the convolution.
  const double own = 64 * 4 + 30;
  EXPECT_EQ(gp.bytes, 4 * (14 * 4 + 2 * 14 * 3 + own));
  // Learning: gradients twice, errors twice, features and their gradients, summaries, parameters
  // in and their gradients out; Adam: gradient in, weight and two moments in and out.
  const KindTotal learns = total_of(o, Step::kBpTrain, Kind::kPredictor);
  EXPECT_EQ(learns.flops - gp.flops, 2 * (9 * 3 * 4 * 14 + 2 * 3 * 748) + 12 * own);
  EXPECT_EQ(learns.bytes - gp.bytes,
            4 * (2 * 748 + 2 * 748 + 2 * 14 * 3 + 14 * 4 + 2 * own) + 4 * 7 * own);
  // Pooled to one cell before the convolution; a step of Adam for each of two layers.
  WorkOptions paper = o;
  paper.predictor.order = "pool-conv";
  paper.predictor.steps = "per-layer";
  const KindTotal small = total_of(paper, Step::kGp, Kind::kPredictor);
  EXPECT_EQ(small.flops, 2 * (9 * 3 * 1 * 14 + 3 * 748));
  EXPECT_EQ(small.bytes, gp.bytes);
  const KindTotal steps = total_of(paper, Step::kBpTrain, Kind::kPredictor);
  EXPECT_EQ(steps.flops - small.flops, 2 * (9 * 3 * 1 * 14 + 2 * 3 * 748) + 2 * 12 * own);
  EXPECT_EQ(steps.bytes - small.bytes, learns.bytes - gp.bytes + 4 * 7 * own);
  // Only the predicted weights move, and their gradients need no memory.
  EXPECT_EQ(total_of(o, Step::kGp, Kind::kOptimizer).bytes, 4 * 4 * 748);
}

TEST(Roofline, FrozenRowsRunForwardAlone) {
  const WorkOptions o = two_examples();
  layers::Table table = small_network();
  const auto sum = [&](Step step) {
    return at_limit(step, step_work(table, o, step), {1, 1}).total().flops;
  };
  const double forward = sum(Step::kForward);
  for (layers::Row& row : table.rows) row.frozen = 1;
  EXPECT_EQ(sum(Step::kForward), forward);
  EXPECT_EQ(sum(Step::kBp), forward);
}

TEST(Roofline, FusedKernelsMoveLess) {
  WorkOptions o = two_examples();
  o.fused = true;
  o.element_bytes = 2;
  // ReLU and pool in the pass of the norm: two reads of the map, a write at the pool's size.
  EXPECT_EQ(total_of(o, Step::kForward, Kind::kNorm).bytes, 2 * (2 * 512 + 128));
  EXPECT_EQ(total_of(o, Step::kForward, Kind::kElementwise).bytes, 0);
  // Backward: the map and the pooled gradient twice, the result.
  EXPECT_EQ(total_of(o, Step::kBp, Kind::kNorm).bytes,
            2 * (2 * 512 + 128) + 2 * (2 * (512 + 128) + 512));
  // The convolution's summary comes from the statistics; the head has no norm.
  EXPECT_EQ(total_of(o, Step::kGp, Kind::kSummaries).bytes, 2 * 20 + 4 * 14 * 64);
  // The bf16 copy is written, too, and gradients are bf16.
  EXPECT_EQ(total_of(o, Step::kBp, Kind::kOptimizer).bytes, (4 * 4 + 2 + 2) * 766);
}

// norm of 4 channels, convolution 4 -> 2, concat to 6, norm of these; 2 * 64 positions.
TEST(Roofline, DenseBlocksCopyTheirNewChannelsAndTakeTheirStatisticsOnce) {
  layers::Table table{"dense", "8x8", {}};
  layers::Row stem = roofline_row("stem", "conv2d", {3, 8, 8}, {4, 8, 8});
  layers::Row norm = roofline_row("norm", "batch_norm", {4, 8, 8}, {4, 8, 8});
  norm.weights = norm.bias = 4;
  layers::Row conv = roofline_row("conv", "conv2d", {4, 8, 8}, {2, 8, 8});
  layers::Row concat = roofline_row("concat", "concat", {6, 8, 8}, {6, 8, 8});
  layers::Row last = roofline_row("last", "batch_norm", {6, 8, 8}, {6, 8, 8});
  last.weights = last.bias = 6;
  table.rows = {stem, norm, conv, concat, last};
  for (layers::Row& row : table.rows) complete(row);
  WorkOptions o = two_examples();
  const auto bytes = [&](Step step, Kind kind) {
    return at_limit(step, step_work(table, o, step), {1, 1}).kinds[static_cast<size_t>(kind)].bytes;
  };
  EXPECT_EQ(bytes(Step::kForward, Kind::kElementwise), 4 * 128 * (6 + 6));
  EXPECT_EQ(bytes(Step::kForward, Kind::kNorm), 4 * 128 * (3 * 4 + 3 * 6));
  const double norms_alone = bytes(Step::kBp, Kind::kNorm);
  const double summaries = bytes(Step::kGp, Kind::kSummaries);
  o.fused = true;
  EXPECT_EQ(bytes(Step::kForward, Kind::kElementwise), 0);
  EXPECT_EQ(bytes(Step::kBp, Kind::kElementwise), 4 * 128 * (2 + 2));
  // The copy takes the statistics of the new channels; the norm behind it reads its map once.
  EXPECT_EQ(bytes(Step::kForward, Kind::kNorm), 4 * 128 * (3 * 4 + (2 + 2) + 2 * 6));
  // The gradient that came by the other way is read by the norm.
  EXPECT_EQ(bytes(Step::kBp, Kind::kNorm), norms_alone + 4 * 128 * (4 + (2 + 2) - 6));
  EXPECT_EQ(bytes(Step::kGp, Kind::kSummaries), summaries - 4 * 128 * (4 + 2));
}

// Two branches of convolution, norm and ReLU, and their concat: with our kernels it costs nothing.
TEST(Roofline, BranchesThatEndInANormAreJoinedInItsPass) {
  layers::Table table{"branches", "8x8", {}};
  for (const char* name : {"left", "right"}) {
    layers::Row norm = roofline_row(name, "batch_norm", {4, 8, 8}, {4, 8, 8});
    norm.weights = norm.bias = 4;
    table.rows.push_back(roofline_row(name, "conv2d", {3, 8, 8}, {4, 8, 8}));
    table.rows.push_back(norm);
    table.rows.push_back(roofline_row(name, "activation", {4, 8, 8}, {4, 8, 8}));
  }
  table.rows.push_back(roofline_row("concat", "concat", {8, 8, 8}, {8, 8, 8}));
  for (layers::Row& row : table.rows) complete(row);
  WorkOptions o = two_examples();
  const auto bytes = [&](Step step, Kind kind) {
    return at_limit(step, step_work(table, o, step), {1, 1}).kinds[static_cast<size_t>(kind)].bytes;
  };
  // Two ReLUs and the concat, each a read and a write of 2 * 64 positions.
  EXPECT_EQ(bytes(Step::kForward, Kind::kElementwise), 4 * 128 * (8 + 8 + 8 + 8));
  o.fused = true;
  EXPECT_EQ(bytes(Step::kForward, Kind::kElementwise), 0);
  EXPECT_EQ(bytes(Step::kBp, Kind::kElementwise), 0);
  EXPECT_EQ(bytes(Step::kForward, Kind::kNorm), 4 * 128 * 3 * 8);
}

TEST(Roofline, EachPieceTakesTheSlowerOfArithmeticAndMemory) {
  std::vector<Work> work(2);
  work[0] = {"a", "forward", Kind::kConvolution, 100, 10};  // 10 s of arithmetic, 2 s of memory
  work[1] = {"b", "forward", Kind::kConvolution, 10, 100};  // 1 s and 20 s
  StepRoofline step = at_limit(Step::kBp, work, {10, 5});
  EXPECT_DOUBLE_EQ(step.total().limit, 30);  // not max(11, 22)
  EXPECT_TRUE(std::isnan(step.share()));
  step.measured = 60;
  EXPECT_DOUBLE_EQ(step.share(), 0.5);
  EXPECT_THROW(at_limit(Step::kBp, work, {0, 5}), Error);
}

TEST(Roofline, NamesWhatIsNotCounted) {
  WorkOptions o = two_examples();
  layers::Table table = small_network();
  const size_t usual = not_counted(table, o).size();
  o.predictor.kind = "dni";
  table.rows.push_back(roofline_row("x", "fft", {4, 8, 8}, {4, 8, 8}));
  const auto missing = not_counted(table, o);
  ASSERT_EQ(missing.size(), usual + 2);
  EXPECT_EQ(total_of(o, Step::kGp, Kind::kPredictor).bytes, 0);
}

TEST(Roofline, PictureAndJsonHaveTheKinds) {
  Roofline r;
  r.model = "small";
  r.limits = {1e9, 1e9};
  for (const Step step : {Step::kForward, Step::kBp}) {
    r.steps.push_back(at_limit(step, step_work(small_network(), two_examples(), step), r.limits));
    r.steps.back().measured = 1e-3;
  }
  const auto json = roofline_json({r});
  EXPECT_EQ(json[0]["steps"]["forward"]["kinds"].size(), 4);
  EXPECT_TRUE(json[0]["steps"]["bp"]["kinds"]["optimizer"]["measured_ms"].is_null());
  const BarChart chart = roofline_chart({r, r});
  ASSERT_EQ(chart.categories.size(), 4);  // of the BP step of each network: limit, measured
  double limit = 0, measured = 0;
  for (const BarSeries& series : chart.series) {
    limit += series.values[0];
    measured += series.values[1];
  }
  EXPECT_DOUBLE_EQ(limit, 1e3 * r.steps[1].total().limit);
  EXPECT_DOUBLE_EQ(measured, 1);
  EXPECT_NE(svg(chart).find("small: limit"), std::string::npos);
  EXPECT_NE(roofline_text({r}).find("not counted"), std::string::npos);
}

}  // namespace
}  // namespace adagp::report

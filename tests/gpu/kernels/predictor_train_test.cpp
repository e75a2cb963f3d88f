// Does the predictor's training step do what its reference defines?

#include "gpu/kernels/predictor_problem.h"

#include <algorithm>
#include <cmath>

namespace adagp::test {
namespace {

using cuda::Type;
using PredictorTraining = KernelTest;

double relative(const float* got, const float* expected, size_t count) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < count; ++i) {
    const double d = double(got[i]) - double(expected[i]);
    difference += d * d;
    norm += double(expected[i]) * double(expected[i]);
  }
  return std::sqrt(difference) / std::max(std::sqrt(norm), 1e-30);
}

// The error is rounded to bf16 before the products. Where it is near a tie, the kernel's fp32 sum
// may round to the other side: one error in a thousand or so, by 2^-8 of itself. What sums over
// hundreds of errors moves by less than this.
constexpr double kRoundings = 1e-3;
// What hangs on a single error can move by the whole step, and by more where few sum up to little.
constexpr double kOneRounding = 1.0 / 128, kFewRoundings = 1.0 / 32;
// Partial sums of gradients (not of fc's bias) are rounded to bf16: each by 2^-8 of itself at most,
// the root mean square is below half of that. The rest is for sums that are less than their parts.
constexpr double kSlots = 1.0 / 256;

// Row by row: rows of fc are columns of layers of their own, and differ in size by much. A wrong
// index is an error of 1, not of a few roundings.
void expect_rows(const std::vector<float>& got, const std::vector<float>& expected, size_t cols,
                 double tolerance, const char* what) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t begin = 0; begin < got.size(); begin += cols) {
    ASSERT_LE(relative(&got[begin], &expected[begin], cols), tolerance)
        << what << ", row " << begin / cols;
  }
}

// Without a past, Adam's moments are (1 - beta1) g and (1 - beta2) g^2: the gradients themselves.
void expect_moments(Problem& kernel, Problem& reference, double tolerance) {
  const char* const names[4] = {"conv weight", "conv bias", "fc weight", "fc bias"};
  for (int i = 0; i < 4; ++i) {
    const auto got = kernel.params[i].first->values(),
               expected = reference.params[i].first->values();
    const double bound = i == 3 ? tolerance : tolerance + kSlots;
    EXPECT_LE(relative(got.data(), expected.data(), got.size()), bound) << names[i];
    const auto square = kernel.params[i].second->values(),
               wanted = reference.params[i].second->values();
    EXPECT_LE(relative(square.data(), wanted.data(), square.size()), 3 * bound) << names[i];
  }
  expect_rows(kernel.params[2].first->values(), reference.params[2].first->values(), 256,
              kFewRoundings, "fc weight");
}

void expect_low(Problem& kernel) {
  const auto weight = kernel.fc_weight->values();
  const auto low = kernel.fc_low->values();
  for (size_t i = 0; i < low.size(); ++i) ASSERT_EQ(low[i], to_bf16(weight[i])) << i;
}

// Steps of both on new gradients each time. A large eps makes Adam's step smooth: with a small one
// a gradient near 0 moves its weight by +lr or -lr, whichever way it was rounded.
void expect_training(const std::vector<LayerShape>& shapes, int steps = 1,
                     double tolerance = kRoundings, bool normalise = true,
                     bool little_memory = false) {
  Problem reference(shapes, false), kernel(shapes, true);
  kernel.little_memory = little_memory;
  cuda::UpdateRule rule;
  rule.kind = cuda::UpdateRule::Kind::kAdam;
  rule.eps = 0.1F;
  for (int step = 0; step < steps; ++step) {
    SCOPED_TRACE(testing::Message() << "step " << step);
    for (Problem* problem : {&reference, &kernel}) {
      problem->draw_gradients(1000 + 500 * static_cast<unsigned>(step));
      problem->train(rule, normalise);
    }
    // A thread adds up to some hundred squares in fp32.
    expect_close(kernel.scale->values(), reference.scale->values(), 3e-6, "scale");
    expect_close(kernel.mean_square->values(), reference.mean_square->values(), 3e-6,
                 "mean square");
    expect_close(kernel.loss->values(), reference.loss->values(), 1e-5 * (1 + 10 * step), "loss");
    EXPECT_EQ(kernel.seen->values(), std::vector<uint8_t>{1});
    if (step == 0) expect_moments(kernel, reference, tolerance);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(kernel.params[i].steps->values(), reference.params[i].steps->values()) << i;
    }
    expect_low(kernel);
  }
  const double bound = tolerance + kSlots;
  expect_close(kernel.conv_weight->values(), reference.conv_weight->values(), bound, "conv weight");
  expect_close(kernel.conv_bias->values(), reference.conv_bias->values(), bound, "conv bias");
  expect_close(kernel.fc_weight->values(), reference.fc_weight->values(), bound, "fc weight");
  expect_close(kernel.fc_bias->values(), reference.fc_bias->values(), tolerance, "fc bias");
}

TEST_F(PredictorTraining, OneLayer) {
  for (const int64_t cols : {9, 27, 64, 147, 576}) {
    for (const int64_t rows : {10, 64, 100, 512}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << cols);
      expect_training({{rows, cols}});
    }
  }
}

TEST_F(PredictorTraining, OneRowAndThree) {
  expect_training({{1, 9}}, 1, kOneRounding);
  expect_training({{1, 147}}, 1, kOneRounding);
  expect_training({{3, 27}}, 1, kOneRounding);
  expect_training({{3, 1}}, 1, kOneRounding);
}

// Several slots of the features.
TEST_F(PredictorTraining, WideLayer) {
  expect_training({{512, 4608}, {700, 64}});
}

// Rows of two layers, for the columns that both have.
TEST_F(PredictorTraining, SharedColumns) {
  expect_training({{1000, 64}, {700, 147}});
}

TEST_F(PredictorTraining, UnlikeLayersTogether) {
  expect_training({{512, 2304}, {64, 27}, {65, 129}, {31, 133, Type::kFloat}, {70, 64}}, 2);
}

// Columns and rows beyond a multiple of the tiles by one.
TEST_F(PredictorTraining, ColumnsJustBeyondATile) {
  expect_training({{65, 1537}, {129, 129}, {33, 65}});
}

// More chunks than blocks: runs that begin and end anywhere in a tile, over several layers.
TEST_F(PredictorTraining, LongRuns) {
  expect_training({{300, 4608}, {1000, 1160}, {130, 64}, {64, 576}, {129, 2304}, {512, 200}});
}

// What GPUs with less shared memory run.
TEST_F(PredictorTraining, LittleMemory) {
  for (const int64_t cols : {9, 64, 147, 576}) {
    SCOPED_TRACE(testing::Message() << cols << " columns");
    expect_training({{100, cols}}, 1, kRoundings, true, /*little_memory=*/true);
  }
  expect_training({{512, 2304}, {64, 27}, {65, 129}, {31, 133, Type::kFloat}, {70, 64}}, 2,
                  kRoundings, true, /*little_memory=*/true);
  expect_training({{300, 4608}, {1000, 1160}, {130, 64}}, 1, kRoundings, true,
                  /*little_memory=*/true);
}

TEST_F(PredictorTraining, SeveralStepsOnMixedLayers) {
  expect_training({{64, 27},
                   {64, 576, Type::kFloat},
                   {100, 147},
                   {31, 133, Type::kFloat},
                   {70, 64, Type::kBFloat16, true, 1},
                   {70, 64, Type::kFloat, true, 3},
                   {10, 128}},
                  5);
}

TEST_F(PredictorTraining, RawTargetLeavesTheScale) {
  expect_training({{64, 27}, {64, 64, Type::kFloat}}, 2, kRoundings, /*normalise=*/false);
}

TEST_F(PredictorTraining, ManyLayers) {
  std::vector<LayerShape> shapes;
  for (int l = 0; l < 60; ++l) shapes.push_back({10 + (l * 37) % 120, 9 + (l * 53) % 300});
  expect_training(shapes, 2);
}

// Many more rows than columns.
TEST_F(PredictorTraining, ManyRows) {
  expect_training({{9000, 9}, {1000, 70}, {100, 27}});
}

// Outputs of fc that no layer has: a gradient of 0, and no NaN from memory nobody wrote.
TEST_F(PredictorTraining, OutputsNobodyUses) {
  Problem reference({{64, 300}, {64, 27}}, false), kernel({{64, 300}, {64, 27}}, true);
  cuda::UpdateRule rule;
  rule.kind = cuda::UpdateRule::Kind::kAdam;
  for (Problem* problem : {&reference, &kernel}) {
    problem->layers.erase(problem->layers.begin());  // only the narrow one is left
    problem->gradients.erase(problem->gradients.begin());
    problem->draw_gradients(1);
    problem->train(rule);
  }
  const auto mean = kernel.params[2].first->values();
  for (size_t i = 27 * 256; i < mean.size(); ++i) ASSERT_EQ(mean[i], 0.0F) << i;
  expect_moments(kernel, reference, kRoundings);
}

TEST_F(PredictorTraining, AdamStepFromItsOwnMoments) {
  Problem kernel({{64, 147}, {100, 64}}, true);
  const auto before = kernel.fc_weight->values();
  cuda::UpdateRule rule;
  rule.kind = cuda::UpdateRule::Kind::kAdam;
  kernel.draw_gradients(5);
  kernel.train(rule);
  const auto after = kernel.fc_weight->values();
  const auto mean = kernel.params[2].first->values(), square = kernel.params[2].second->values();
  std::vector<float> expected(before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    // The first step: m / (1 - beta1) = g, sqrt(v / (1 - beta2)) = |g|.
    const double g = mean[i] / (1.0 - double(rule.beta1));
    const double size = std::sqrt(square[i] / (1.0 - double(rule.beta2)));
    expected[i] = static_cast<float>(before[i] - 0.01 * g / (size + double(rule.eps)));
  }
  expect_close(after, expected, 1e-6, "weight");  // fp32 of single weights
}

TEST_F(PredictorTraining, IsTheSameInEveryRun) {
  const std::vector<LayerShape> shapes = {{512, 576}, {600, 147}, {10, 64}};
  Problem one(shapes, true), other(shapes, true);
  cuda::UpdateRule rule;
  rule.kind = cuda::UpdateRule::Kind::kAdam;
  for (int step = 0; step < 2; ++step) {
    for (Problem* problem : {&one, &other}) {
      problem->draw_gradients(static_cast<unsigned>(step));
      problem->train(rule);
    }
  }
  EXPECT_EQ(one.fc_weight->values(), other.fc_weight->values());
  EXPECT_EQ(one.fc_bias->values(), other.fc_bias->values());
  EXPECT_EQ(one.conv_weight->values(), other.conv_weight->values());
  EXPECT_EQ(one.conv_bias->values(), other.conv_bias->values());
  EXPECT_EQ(one.loss->values(), other.loss->values());
}

}  // namespace
}  // namespace adagp::test

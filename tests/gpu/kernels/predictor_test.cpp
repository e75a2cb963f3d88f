// Do the predictor's kernels compute what their references define?

#include "gpu/kernels/predictor_problem.h"

#include <cmath>

namespace adagp::test {
namespace {

using cuda::Type;
using Kind = cuda::UpdateRule::Kind;
using PredictorKernels = KernelTest;

// ---- Features -------------------------------------------------------------------------------

void expect_features(int64_t rows) {
  Problem reference({{rows, 9}}, false), kernel({{rows, 9}}, true);
  reference.make_features();
  kernel.make_features();
  const auto expected = reference.features->values(), got = kernel.features->values();
  ASSERT_EQ(got.size(), expected.size());
  size_t others = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    // A step of bf16 on the other side of a tie, or what cancelled in fp32 sums of size 1.
    const double value = from_bf16(got[i]), wanted = from_bf16(expected[i]);
    ASSERT_LE(std::fabs(value - wanted), wanted / 128 + 1e-6) << rows << " rows, feature " << i;
    others += got[i] != expected[i];
  }
  // fp32 sums of ten products differ from the reference's by some 1e-7, a bf16 step is 4e-3 to
  // 8e-3: about one in ten thousand falls on the other side of a tie.
  EXPECT_LE(double(others), 2e-3 * double(got.size()) + 2);
}

TEST_F(PredictorKernels, FeaturesAreTheReferences) {
  for (const int64_t rows : {1, 3, 8, 100, 2954}) expect_features(rows);
}

TEST_F(PredictorKernels, FeaturesOfMoreRowsThanWarps) {
  expect_features(13000);
}

TEST_F(PredictorKernels, FeaturesKeepNaN) {
  Problem kernel({{2, 9}}, true);
  auto summaries = kernel.summaries->values();
  summaries[64 + 20] = NAN;  // pixel (2, 4) of the second row
  const Device<float> poisoned(summaries);
  cuda::predictor_features({poisoned.get(), 3, &kernel.net, kernel.features->get()}, nullptr);
  const auto got = kernel.features->values();
  for (int channel = 0; channel < cuda::kChannels; ++channel) {
    EXPECT_TRUE(std::isnan(from_bf16(got[256 + channel * 16 + 6])));    // pooled (1, 2)
    EXPECT_FALSE(std::isnan(from_bf16(got[256 + channel * 16 + 12])));  // out of reach
    EXPECT_FALSE(std::isnan(from_bf16(got[channel * 16 + 6])));
  }
}

// ---- Update ---------------------------------------------------------------------------------

cuda::UpdateRule rule_of(Kind kind, bool nesterov = false) {
  cuda::UpdateRule rule;
  rule.kind = kind;
  rule.nesterov = nesterov;
  return rule;
}

void expect_state(const std::unique_ptr<Array<float>>& got,
                  const std::unique_ptr<Array<float>>& expected, const char* what) {
  ASSERT_EQ(got != nullptr, expected != nullptr);
  if (!got) return;
  auto values = got->values(), wanted = expected->values();
  // The guards are larger than any tolerance's measure should be, and they must not change at all.
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != kGuard) continue;
    ASSERT_EQ(values[i], kGuard) << what << ": written outside, at " << i;
    values[i] = wanted[i] = 0;
  }
  // Products are exact; 256 of them are added in fp32 in another order, by tensor cores that cut
  // off below 2^-23 of the largest: some 1e-6 of the sum of magnitudes, which is about ten times
  // the result.
  expect_close(values, wanted, 3e-5, what);
}

void expect_low(Problem& problem, size_t l, const LayerShape& shape) {
  const auto& state = problem.states[l];
  if (!state.low) return;
  const auto weight = state.weight->values();
  const auto low = state.low->values();
  const size_t begin = static_cast<size_t>(kGuards + shape.shift);
  const size_t end = begin + static_cast<size_t>(shape.rows * shape.cols);
  for (size_t i = 0; i < low.size(); ++i) {
    const uint16_t expected = i >= begin && i < end ? to_bf16(weight[i]) : 0;
    ASSERT_EQ(low[i], expected) << "low copy of layer " << l << " at " << i;
  }
}

// Here the question is what is made of them.
void use_same_features(Problem& reference, Problem& kernel) {
  reference.make_features();
  kernel.features =
      std::make_unique<Array<uint16_t>>(reference.features->values(), /*on_device=*/true);
}

void expect_update(const std::vector<LayerShape>& shapes, const cuda::UpdateRule& rule, int state,
                   int steps = 1) {
  Problem reference(shapes, false, state, 3), kernel(shapes, true, state, 3);
  use_same_features(reference, kernel);
  for (int i = 0; i < steps; ++i) {
    reference.predict(rule);
    kernel.predict(rule);
  }
  for (size_t l = 0; l < shapes.size(); ++l) {
    SCOPED_TRACE(testing::Message()
                 << "layer " << l << ": " << shapes[l].rows << " x " << shapes[l].cols);
    expect_state(kernel.states[l].weight, reference.states[l].weight, "weight");
    expect_state(kernel.states[l].first, reference.states[l].first, "first");
    expect_state(kernel.states[l].second, reference.states[l].second, "second");
    if (state == 2) {
      EXPECT_EQ(kernel.states[l].steps->values(), reference.states[l].steps->values());
    }
    expect_low(kernel, l, shapes[l]);
  }
}

// Every kind of row: shorter and longer than a tile, odd, a multiple of four but not of eight.
const std::vector<LayerShape> kOddShapes = {{1, 9},    {3, 27},    {10, 64},  {64, 147}, {100, 576},
                                            {65, 128}, {129, 132}, {130, 4},  {64, 12},  {200, 27},
                                            {1, 576},  {3, 1},     {128, 257}};

TEST_F(PredictorKernels, UpdatesWithMomentum) {
  expect_update(kOddShapes, rule_of(Kind::kSgd), 1, 3);
}

TEST_F(PredictorKernels, UpdatesWithNesterov) {
  expect_update(kOddShapes, rule_of(Kind::kSgd, true), 1, 2);
}

TEST_F(PredictorKernels, UpdatesWithoutState) {
  expect_update(kOddShapes, rule_of(Kind::kSgd, true), 0);
}

TEST_F(PredictorKernels, UpdatesWithAdam) {
  expect_update(kOddShapes, rule_of(Kind::kAdam), 2, 3);
}

TEST_F(PredictorKernels, UpdatesWithAdamW) {
  expect_update(kOddShapes, rule_of(Kind::kAdamW), 2, 3);
}

TEST_F(PredictorKernels, UpdatesTheWidestLayer) {
  expect_update({{512, 4608}, {64, 27}}, rule_of(Kind::kSgd), 1);
}

// Several steps for every block, each with other columns; and runs that end within a layer.
TEST_F(PredictorKernels, UpdatesLongRunsOfSteps) {
  expect_update({{31, 40004}, {33, 4}}, rule_of(Kind::kSgd), 1);
  expect_update({{5000, 132}, {100, 260}, {7000, 12}}, rule_of(Kind::kSgd), 1);
}

TEST_F(PredictorKernels, UpdatesWithoutLowCopy) {
  expect_update({{100, 64, Type::kFloat, false}, {64, 147, Type::kFloat, false}},
                rule_of(Kind::kSgd), 1);
}

TEST_F(PredictorKernels, UpdatesArraysThatBeginAnywhere) {
  expect_update({{70, 64, Type::kFloat, true, 1}, {70, 64, Type::kFloat, true, 2}, {70, 64}},
                rule_of(Kind::kSgd), 1);
  expect_update({{70, 64, Type::kFloat, true, 3}}, rule_of(Kind::kAdam), 2);
}

TEST_F(PredictorKernels, UpdatesMoreLayersThanOneLaunchTakes) {
  std::vector<LayerShape> shapes;
  for (int l = 0; l < 150; ++l) shapes.push_back({1 + l % 70, 9 + (l * 7) % 200});
  expect_update(shapes, rule_of(Kind::kSgd), 1);
  expect_update(shapes, rule_of(Kind::kAdam), 2);
}

TEST_F(PredictorKernels, ClippingScalesThePrediction) {
  const std::vector<LayerShape> shapes = {{64, 64}, {10, 27}};
  Problem reference(shapes, false), kernel(shapes, true);
  use_same_features(reference, kernel);
  const std::vector<float> clip{0.125F};
  const Device<float> clip_there(clip);
  auto rule = rule_of(Kind::kSgd);
  rule.scale = clip.data();
  reference.predict(rule);
  rule.scale = clip_there.get();
  kernel.predict(rule);
  for (size_t l = 0; l < shapes.size(); ++l) {
    expect_state(kernel.states[l].first, reference.states[l].first, "first");
  }
}

TEST_F(PredictorKernels, UpdatesAreTheSameInEveryRun) {
  Problem one(kOddShapes, true), other(kOddShapes, true);
  for (Problem* problem : {&one, &other}) {
    problem->make_features();
    problem->predict(rule_of(Kind::kSgd));
  }
  for (size_t l = 0; l < kOddShapes.size(); ++l) {
    EXPECT_EQ(one.states[l].weight->values(), other.states[l].weight->values()) << l;
  }
}

}  // namespace
}  // namespace adagp::test

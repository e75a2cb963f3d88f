// Examples drawn by weights.

#include "adagp/base/plan/selection.h"

#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"

namespace adagp::plan {
namespace {

const std::vector<double> kWeights = {1, 0, 3, 4, 2};

std::vector<double> shares(const std::vector<int64_t>& drawn) {
  std::vector<double> out(kWeights.size());
  for (const int64_t example : drawn) {
    out[static_cast<size_t>(example)] += 1.0 / static_cast<double>(drawn.size());
  }
  return out;
}

TEST(Weighted, WithReplacementSharesAreTheWeights) {
  constexpr int64_t kDraws = 40000;
  const auto got = shares(weighted_examples(kWeights, {kDraws, true}, 7, 0));
  for (size_t i = 0; i < kWeights.size(); ++i) {
    const double p = kWeights[i] / 10;
    // Five standard deviations of a share.
    EXPECT_NEAR(got[i], p, 5 * std::sqrt(p * (1 - p) / kDraws)) << i;
  }
}

TEST(Weighted, WithoutReplacementEachIsDrawnOnceAndTheFirstByItsWeight) {
  constexpr int64_t kEpochs = 20000;
  std::vector<int64_t> firsts;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const auto drawn = weighted_examples(kWeights, {4, false}, 7, epoch);
    EXPECT_EQ(std::set<int64_t>(drawn.begin(), drawn.end()), (std::set<int64_t>{0, 2, 3, 4}));
    firsts.push_back(drawn.front());
  }
  const auto got = shares(firsts);
  for (size_t i = 0; i < kWeights.size(); ++i) {
    const double p = kWeights[i] / 10;
    EXPECT_NEAR(got[i], p, 5 * std::sqrt(p * (1 - p) / kEpochs)) << i;
  }
}

TEST(Weighted, DependsOnSeedAndEpochAlone) {
  const auto drawn = weighted_examples(kWeights, {100, true}, 7, 2);
  EXPECT_EQ(drawn, weighted_examples(kWeights, {100, true}, 7, 2));
  EXPECT_NE(drawn, weighted_examples(kWeights, {100, true}, 7, 3));
  EXPECT_NE(drawn, weighted_examples(kWeights, {100, true}, 8, 2));
}

TEST(Weighted, WeightsNearTheLimitsOfDoubles) {
  const double huge = std::numeric_limits<double>::max();
  for (const int64_t example : weighted_examples({0, huge, huge, 0}, {100, true}, 1, 0)) {
    EXPECT_TRUE(example == 1 || example == 2);
  }
}

TEST(Weighted, RefusesWhatCannotBeDrawn) {
  for (const double bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(weighted_examples({1, bad}, {1, true}, 0, 0), UsageError) << bad;
  }
  EXPECT_THROW(weighted_examples({0, 0}, {1, true}, 0, 0), UsageError);
  EXPECT_THROW(weighted_examples({}, {1, true}, 0, 0), UsageError);
  EXPECT_THROW(weighted_examples(kWeights, {5, false}, 0, 0), UsageError);
  EXPECT_THROW(weighted_examples(kWeights, {0, true}, 0, 0), UsageError);
}

}  // namespace
}  // namespace adagp::plan

#include "adagp/base/core/rng.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "adagp/base/core/error.h"

namespace adagp::core {
namespace {

TEST(Rng, SeedsThroughPublishedSplitmix64) {
  // The first four outputs of splitmix64 started at 0.
  EXPECT_EQ(Rng(0).state(), "e220a8397b1dcdaf6e789e6aa1b965f406c45d188009454ff88bb8a8724c81ec");
}

TEST(Rng, FollowsPublishedXoshiro256StarStar) {
  // Outputs of the authors' reference code for the state {1, 2, 3, 4}.
  Rng rng;
  rng.set_state("0000000000000001000000000000000200000000000000030000000000000004");
  for (const uint64_t expected :
       {uint64_t{11520}, uint64_t{0}, uint64_t{1509978240}, uint64_t{1215971899390074240},
        uint64_t{1216172134540287360}, uint64_t{607988272756665600}, 16172922978634559625u,
        uint64_t{8476171486693032832}, 10595114339597558777u, uint64_t{2904607092377533576}}) {
    EXPECT_EQ(rng.next(), expected);
  }
}

TEST(Rng, RestoredStateContinuesTheSequence) {
  Rng rng(7);
  for (int i = 0; i < 100; ++i) rng.normal();
  Rng copy(8);
  copy.set_state(rng.state());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rng.next(), copy.next());
}

TEST(Rng, RefusesABrokenState) {
  Rng rng;
  EXPECT_THROW(rng.set_state(""), DataError);
  EXPECT_THROW(rng.set_state(std::string(63, '0')), DataError);
  EXPECT_THROW(rng.set_state(std::string(63, '0') + "g"), DataError);
  EXPECT_THROW(rng.set_state("-" + std::string(63, '0')), DataError);
}

TEST(Rng, BelowIsUniform) {
  constexpr int kDraws = 100'000, kBins = 10;
  std::vector<double> counts(kBins);
  Rng rng(1);
  for (int i = 0; i < kDraws; ++i) counts[static_cast<size_t>(rng.below(kBins))] += 1;
  double chi_squared = 0;
  for (const double count : counts) chi_squared += std::pow(count - kDraws / kBins, 2);
  EXPECT_LT(chi_squared / (kDraws / kBins), 33.7);  // 9 degrees of freedom, 99.99 %
}

TEST(Rng, BelowHasNoModuloBias) {
  // With next() % limit the lowest third would come up in 3/8 of the draws.
  constexpr int64_t kLimit = int64_t{3} << 61;
  Rng rng(2);
  int low = 0;
  for (int i = 0; i < 20'000; ++i) low += rng.below(kLimit) < kLimit / 3 ? 1 : 0;
  EXPECT_NEAR(low / 20'000.0, 1.0 / 3, 0.017);  // five standard deviations
}

TEST(Rng, UniformAndNormalHaveTheirMoments) {
  constexpr int kDraws = 100'000;
  Rng rng(3);
  double mean = 0, square = 0, normal_mean = 0, normal_square = 0, fourth = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = rng.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    mean += u / kDraws;
    square += u * u / kDraws;
    const double n = rng.normal();
    normal_mean += n / kDraws;
    normal_square += n * n / kDraws;
    fourth += n * n * n * n / kDraws;
  }
  // Five standard errors of each.
  EXPECT_NEAR(mean, 0.5, 5 * std::sqrt(1.0 / 12 / kDraws));
  EXPECT_NEAR(square, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / kDraws));
  EXPECT_NEAR(normal_mean, 0, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(normal_square, 1, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(fourth, 3, 5 * std::sqrt(96.0 / kDraws));
}

TEST(Permutation, HoldsEveryIndexOnceAndDependsOnTheSeed) {
  const auto order = permutation(1000, 5);
  const std::set<int64_t> seen(order.begin(), order.end());
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_EQ(*seen.begin(), 0);
  EXPECT_EQ(*seen.rbegin(), 999);
  EXPECT_EQ(order, permutation(1000, 5));
  EXPECT_NE(order, permutation(1000, 6));
  EXPECT_TRUE(permutation(0, 1).empty());
}

TEST(Permutation, EveryOrderIsEquallyLikely) {
  constexpr int kDraws = 24'000;
  std::map<std::vector<int64_t>, double> counts;
  for (int seed = 0; seed < kDraws; ++seed)
    counts[permutation(4, static_cast<uint64_t>(seed))] += 1;
  ASSERT_EQ(counts.size(), 24u);
  double chi_squared = 0;
  for (const auto& [order, count] : counts) chi_squared += std::pow(count - 1000, 2) / 1000;
  EXPECT_LT(chi_squared, 56.0);  // 23 degrees of freedom, 99.99 %
}

TEST(Mix, DependsOnEveryPartAndItsPlace) {
  const std::set<uint64_t> values{mix({1, 2}), mix({2, 1}), mix({1}),    mix({1, 2, 0}),
                                  mix({0, 0}), mix({0}),    mix({1, 3}), mix({})};
  EXPECT_EQ(values.size(), 8u);
}

TEST(Mix, OneFlippedBitFlipsAboutHalfOfTheResult) {
  double flipped = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    flipped += std::popcount(mix({i, 7}) ^ mix({i ^ (uint64_t{1} << (i % 64)), 7}));
  }
  EXPECT_NEAR(flipped / 1000, 32, 0.65);  // five standard errors of a fair 64-bit word
}

}  // namespace
}  // namespace adagp::core

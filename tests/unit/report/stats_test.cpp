#include "adagp/results/report/stats.h"

#include <cmath>

#include <gtest/gtest.h>

namespace adagp::report {
namespace {

TEST(Stats, MeanAndStandardDeviationByHand) {
  EXPECT_DOUBLE_EQ(mean({2, 4, 9}), 5);
  EXPECT_DOUBLE_EQ(standard_deviation({2, 4, 9}), std::sqrt((9 + 1 + 16) / 2.0));
  EXPECT_TRUE(std::isnan(mean({})));
  EXPECT_TRUE(std::isnan(standard_deviation({3})));
}

TEST(Stats, QuantilesOfThePublishedTable) {
  // Student's table, three decimals.
  const struct {
    double probability, freedom, t;
  } table[] = {{0.975, 1, 12.706}, {0.975, 2, 4.303},  {0.975, 3, 3.182},  {0.975, 4, 2.776},
               {0.975, 5, 2.571},  {0.975, 10, 2.228}, {0.975, 30, 2.042}, {0.975, 120, 1.980},
               {0.95, 1, 6.314},   {0.95, 5, 2.015},   {0.995, 2, 9.925},  {0.995, 10, 3.169},
               {0.9995, 4, 8.610}, {0.75, 1, 1.000},   {0.5, 7, 0.0},      {0.025, 4, -2.776}};
  for (const auto& row : table) {
    EXPECT_NEAR(student_t_quantile(row.probability, row.freedom), row.t, 6e-4)
        << row.probability << " with " << row.freedom;
  }
}

TEST(Stats, DistributionsWithAClosedForm) {
  // One degree of freedom: 1/2 + atan(t)/pi; two: 1/2 + t / (2 sqrt(2 + t^2)).
  for (const double t : {-30.0, -1.0, -0.1, 0.0, 0.5, 2.0, 50.0}) {
    EXPECT_NEAR(student_t_cdf(t, 1), 0.5 + std::atan(t) / M_PI, 1e-12) << t;
    EXPECT_NEAR(student_t_cdf(t, 2), 0.5 + t / (2 * std::sqrt(2 + t * t)), 1e-12) << t;
  }
}

TEST(Stats, PairedDifferenceByHand) {
  // Mean 2, sd 1, n 3: half width 4.3027 / sqrt(3) = 2.4842.
  const auto d = paired_difference({1, 2, 3});
  EXPECT_EQ(d.n, 3);
  EXPECT_DOUBLE_EQ(d.mean, 2);
  EXPECT_NEAR(d.low, 2 - 2.4842, 1e-3);
  EXPECT_NEAR(d.high, 2 + 2.4842, 1e-3);
  EXPECT_FALSE(d.excludes_zero());
  EXPECT_TRUE(paired_difference({2.9, 3.0, 3.1}).excludes_zero());
  EXPECT_TRUE(paired_difference({-2.9, -3.0, -3.1}).excludes_zero());
}

TEST(Stats, OnePairHasNoInterval) {
  const auto d = paired_difference({5});
  EXPECT_DOUBLE_EQ(d.mean, 5);
  EXPECT_TRUE(std::isnan(d.low));
  EXPECT_FALSE(d.excludes_zero());
}

}  // namespace
}  // namespace adagp::report

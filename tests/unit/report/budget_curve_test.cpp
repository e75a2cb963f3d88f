#include "adagp/results/report/budget_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace adagp::report {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// What is spent where the variable of the fit, 1 / sqrt(spent), is `v`: equal steps of it make the
// closed forms of equidistant regression hold.
double spent_at(double v) {
  return 1 / (v * v);
}

double between(double low, double high, double share) {
  return low * std::pow(high / low, share);
}

TEST(BudgetCurve, HoldsTheUsualFormsOfALearningCurve) {
  const auto inverse = [](double x) { return 96 - 52 / x; };
  const auto root = [](double x) { return 95 - 20 / std::sqrt(x); };
  const auto logarithm = [](double x) { return 80 + 2.5 * std::log(x); };
  const auto worst = [](auto score) {
    std::vector<BudgetScores> budgets;
    for (const double spent : {5, 10, 20, 40}) budgets.push_back({spent, {score(spent)}});
    const auto curve = fit_curve(256, budgets, kUnknown);
    double error = 0;
    for (int i = 0; i <= 100; ++i) {
      const double x = between(5, 40, i / 100.0);
      error = std::max(error, std::abs(control_at(*curve, x)->value - score(x)));
    }
    return error;
  };
  EXPECT_LT(worst(inverse), 1e-9);
  EXPECT_LT(worst(root), 1e-9);
  EXPECT_LT(worst(logarithm), 0.1);  // what the header promises; lines between the means miss the
                                     // first form by 0.45
}

TEST(BudgetCurve, GoesThroughTheMeansOfThreeBudgetsWithLagrangesWeightsBetween) {
  const auto curve = fit_curve(
      128,
      {{spent_at(0.1), {90.1, 89.9}}, {spent_at(0.3), {84.3, 83.7}}, {spent_at(0.2), {88, 88}}},
      kUnknown);
  ASSERT_TRUE(curve);
  EXPECT_EQ(curve->batch, 128);
  EXPECT_EQ(curve->runs, 6);
  ASSERT_EQ(curve->points.size(), 3u);
  EXPECT_DOUBLE_EQ(curve->points[0].first, spent_at(0.3));  // sorted
  EXPECT_DOUBLE_EQ(curve->points[0].second, 84);
  // Squares around the means: 2 * 0.1^2 + 2 * 0.3^2 = 0.2, six runs less three parameters.
  const double sd = std::sqrt(0.2 / 3);
  EXPECT_NEAR(curve->residual, sd, 1e-9);
  EXPECT_NEAR(control_at(*curve, spent_at(0.2))->value, 88, 1e-9);
  EXPECT_NEAR(control_at(*curve, spent_at(0.2))->error, sd / std::sqrt(2), 1e-9);
  const auto middle = control_at(*curve, spent_at(0.25));  // weights 3/8, 6/8, -1/8
  EXPECT_NEAR(middle->value, (3 * 84 + 6 * 88 - 90) / 8.0, 1e-9);
  EXPECT_NEAR(middle->error, sd * std::sqrt((9 + 36 + 1) / 64.0 / 2), 1e-9);
}

TEST(BudgetCurve, IsALeastSquaresParabolaThroughFourBudgets) {
  const double y[] = {84, 87.2, 89.1, 90};  // v = 0.4, 0.3, 0.2, 0.1
  std::vector<BudgetScores> budgets;
  for (int i = 0; i < 4; ++i) budgets.push_back({spent_at(0.4 - 0.1 * i), {y[i]}});
  const auto curve = fit_curve(256, budgets, kUnknown);
  // The part of the third-degree contrast (-1, 3, -3, 1) is what a parabola leaves.
  const double contrast = -y[0] + 3 * y[1] - 3 * y[2] + y[3];
  EXPECT_NEAR(curve->residual, std::abs(contrast) / std::sqrt(20), 1e-9);
  EXPECT_NEAR(control_at(*curve, spent_at(0.4))->value, y[0] + contrast / 20, 1e-9);
  EXPECT_NEAR(control_at(*curve, spent_at(0.3))->value, y[1] - 3 * contrast / 20, 1e-9);
}

TEST(BudgetCurve, NoOtherParabolaIsNearerToUnequalNumbersOfRuns) {
  const std::vector<BudgetScores> budgets = {
      {6, {80.1, 80.5, 79.9, 80.2}}, {9, {84.4}}, {17, {87.9, 88.2}}, {30, {89.6, 89.1, 89.3}}};
  const auto curve = *fit_curve(256, budgets, kUnknown);
  const auto squares = [&](const std::vector<double>& c) {
    double sum = 0;
    for (const auto& budget : budgets) {
      const double u = (1 / std::sqrt(budget.spent) - curve.centre) / curve.scale;
      for (const double score : budget.scores) {
        sum += std::pow(score - (c[0] + c[1] * u + c[2] * u * u), 2);
      }
    }
    return sum;
  };
  const double least = squares(curve.coefficients);
  EXPECT_NEAR(curve.residual, std::sqrt(least / (10 - 3)), 1e-9);
  for (size_t i = 0; i < 3; ++i) {
    for (const double step : {-1e-3, 1e-3}) {
      auto moved = curve.coefficients;
      moved[i] += step;
      EXPECT_GT(squares(moved), least) << i << " " << step;
    }
  }
}

TEST(BudgetCurve, KeepsTheBestScoreHadForLess) {
  // u = 1, 0, -1 by rising cost: a = 89, b = -0.25, c = -0.75; top at u = -1/6.
  const auto curve =
      *fit_curve(256, {{spent_at(0.3), {88}}, {spent_at(0.2), {89}}, {spent_at(0.1), {88.5}}}, 0.1);
  const double top = 89 + 0.25 * 0.25 / (4 * 0.75);
  EXPECT_TRUE(turns_down(curve));
  EXPECT_NEAR(control_at(curve, spent_at(0.3))->value, 88, 1e-9);
  EXPECT_NEAR(control_at(curve, spent_at(0.2))->value, 89, 1e-9);
  EXPECT_NEAR(control_at(curve, spent_at(0.1))->value, top, 1e-9);
  double before = 0;
  for (int i = 0; i <= 50; ++i) {
    const double value = control_at(curve, between(curve.from, curve.to, i / 50.0))->value;
    EXPECT_GE(value, before - 1e-12);
    before = value;
  }
  const auto falling = *fit_curve(256, {{10, {89}}, {20, {88}}}, 0.1);
  EXPECT_TRUE(turns_down(falling));
  EXPECT_NEAR(control_at(falling, 20)->value, 89, 1e-9);
  EXPECT_FALSE(turns_down(*fit_curve(256, {{10, {88}}, {20, {89}}}, 0.1)));
}

TEST(BudgetCurve, SaysNothingBeyondWhatWasMeasured) {
  const auto curve = *fit_curve(256, {{10, {85}}, {20, {88}}, {40, {89}}}, kUnknown);
  EXPECT_TRUE(control_at(curve, 10 / 1.019));
  EXPECT_TRUE(control_at(curve, 40 * 1.019));
  EXPECT_FALSE(control_at(curve, 10 / 1.021));
  EXPECT_FALSE(control_at(curve, 40 * 1.021));
  EXPECT_FALSE(control_at(curve, kUnknown));
}

TEST(BudgetCurve, BudgetsOfEqualCostAreOne) {
  EXPECT_FALSE(fit_curve(256, {}, kUnknown));
  EXPECT_FALSE(fit_curve(256, {{10, {85, 86}}}, kUnknown));
  EXPECT_FALSE(fit_curve(256, {{10, {85}}, {10, {86}}}, kUnknown));
  EXPECT_FALSE(fit_curve(256, {{10, {85}}, {10.1, {86}}}, kUnknown));
  const auto line = fit_curve(256, {{10, {85}}, {10, {86}}, {20, {88}}}, kUnknown);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->coefficients.size(), 2u);
  EXPECT_NEAR(control_at(*line, 10)->value, 85.5, 1e-9);
}

TEST(BudgetCurve, TakesThePooledDeviationWhereItHasNoneOfItsOwn) {
  const std::vector<BudgetScores> two = {{10, {85}}, {20, {88}}};
  EXPECT_TRUE(std::isnan(control_at(*fit_curve(256, two, kUnknown), 10)->error));
  EXPECT_NEAR(control_at(*fit_curve(256, two, 0.2), 10)->error, 0.2, 1e-9);
  EXPECT_DOUBLE_EQ(trusted_deviation(0.3, 2, 0.1), 0.3);
  EXPECT_DOUBLE_EQ(trusted_deviation(0.03, 2, 0.1), 0.03);
  EXPECT_DOUBLE_EQ(trusted_deviation(0.03, 1, 0.1), 0.1);
  EXPECT_DOUBLE_EQ(trusted_deviation(0.3, 1, 0.1), 0.3);
  EXPECT_DOUBLE_EQ(trusted_deviation(0.3, 1, kUnknown), 0.3);
  EXPECT_DOUBLE_EQ(trusted_deviation(kUnknown, 0, 0.1), 0.1);
}

TEST(BudgetCurve, TheBestOfSeveralIsTheHighestThatIsKnown) {
  const std::vector<Curve> curves = {*fit_curve(128, {{10, {80}}, {40, {90}}}, 0.1),
                                     *fit_curve(512, {{5, {84}}, {20, {86}}}, 0.3)};
  EXPECT_FALSE(best_control_at(curves, 4));
  EXPECT_FALSE(best_control_at(curves, 50));
  EXPECT_FALSE(best_control_at({}, 10));
  EXPECT_EQ(best_control_at(curves, 10)->batch, 512);
  EXPECT_EQ(best_control_at(curves, 40)->batch, 128);
  EXPECT_NEAR(best_control_at(curves, 40)->score.value, 90, 1e-9);
  EXPECT_NEAR(best_control_at(curves, 40)->score.error, 0.1, 1e-9);
  // At 22 the first stands at 80 + 10 * 0.65 = 86.5, by 1 / sqrt of 10, 22 and 40. What the second
  // had reached by 20 is better, though it was not run that long.
  const std::vector<Curve> ended = {curves[0], *fit_curve(512, {{5, {84}}, {20, {89}}}, 0.3)};
  EXPECT_EQ(best_control_at(ended, 22)->batch, 512);
  EXPECT_NEAR(best_control_at(ended, 22)->score.value, 89, 1e-9);
}

}  // namespace
}  // namespace adagp::report

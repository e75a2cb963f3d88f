#include "adagp/results/report/budget.h"

#include <cmath>
#include <limits>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"

namespace adagp::report {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// A run for each score, seeds counted from 0.
void add_runs(std::vector<BudgetRun>& runs, const std::string& method, int64_t batch,
              int64_t epochs, double cost, double seconds, const std::vector<double>& scores) {
  for (size_t i = 0; i < scores.size(); ++i) {
    runs.push_back({method, epochs, batch, static_cast<int64_t>(i), scores[i], cost, seconds});
  }
}

BudgetReport report_of(const std::vector<BudgetRun>& runs,
                       const std::vector<int64_t>& targets = {}) {
  return budget_report(runs, {}, 256, targets);
}

const BudgetRow& row_of(const BudgetReport& report, std::string_view method, int64_t batch,
                        int64_t epochs) {
  for (const BudgetRow& row : report.rows) {
    if (row.method == method && row.batch == batch && row.epochs == epochs) return row;
  }
  throw Error("no such row");
}

const TargetRow& target_of(const BudgetReport& report, std::string_view method, int64_t batch) {
  for (const TargetRow& row : report.targets) {
    if (row.method == method && row.batch == batch) return row;
  }
  throw Error("no such target");
}

// A control with means 84, 88 and 90 where 1 / sqrt(cost) is 0.3, 0.2 and 0.1, twice as many
// seconds; standard deviation of the seeds 0.1 * sqrt(2) each.
std::vector<BudgetRun> control(int64_t batch = 256, double seconds = 2, double better = 0) {
  std::vector<BudgetRun> runs;
  const double means[] = {84, 88, 90}, roots[] = {0.3, 0.2, 0.1};
  for (int i = 0; i < 3; ++i) {
    const double cost = 1 / (roots[i] * roots[i]), score = means[i] + better;
    add_runs(runs, "bp", batch, 11 + 14 * i, cost, seconds * cost, {score - 0.1, score + 0.1});
  }
  return runs;
}

TEST(Budget, AClockThatContradictsTheCostsIsTold) {
  const auto noted = [](const BudgetReport& report) {
    return to_markdown(report).find("do not trust what is said of seconds") != std::string::npos;
  };
  auto runs = control();
  EXPECT_FALSE(noted(report_of(runs)));
  for (BudgetRun& run : runs) {
    if (run.epochs == 11) run.seconds *= 1.2;
  }
  EXPECT_TRUE(noted(report_of(runs)));
}

// Seeds run one after the other, and so all lengths of one seed are slow: the means hide it.
TEST(Budget, SecondsOfUnlikeHardwareAreNotCompared) {
  std::vector<BudgetRun> runs = control();
  add_runs(runs, "other", 256, 30, 25, 50, {89, 89.2});
  ASSERT_TRUE(row_of(report_of(runs), "other", 256, 30).clock);
  for (BudgetRun& run : runs) run.hardware = run.seed == 0 ? "one" : "another";
  const BudgetReport report = report_of(runs);
  const BudgetRow& row = row_of(report, "other", 256, 30);
  EXPECT_TRUE(row.counted);
  EXPECT_FALSE(row.clock || row.best_clock);
  EXPECT_TRUE(report.targets.empty());
  EXPECT_NE(to_markdown(report).find("unlike devices (another; one)"), std::string::npos);
  EXPECT_EQ(verdict(report).find("backprop was not run"), std::string::npos) << verdict(report);
  EXPECT_EQ(verdict(report).find("Not judged at equal seconds"), 0U);
}

TEST(Budget, ASeedOfABusyMachineIsToldInTheVerdict) {
  auto runs = control();
  add_runs(runs, "m", 256, 24, 16, 32, {88.3, 88.6});
  EXPECT_EQ(verdict(report_of(runs)).find("do not trust"), std::string::npos);
  for (BudgetRun& run : runs) run.seconds *= run.seed == 0 ? 1.2 : 0.8;
  const std::string said = verdict(report_of(runs));
  EXPECT_NE(said.find("\n\nbp, batch size 256: an epoch takes 1.60 to 2.40 s."), std::string::npos)
      << said;
  const std::string text = to_markdown(report_of(runs));
  EXPECT_EQ(text.find("do not trust"), text.rfind("do not trust")) << "once";
}

TEST(Budget, ARunWithoutAScoreHasDashesAndWhatWasComparedStandsAbove) {
  auto runs = control();
  add_runs(runs, "m", 256, 24, kMissing, kMissing, {kMissing});
  auto report = report_of(runs);
  report.about = "vgg8s on synthetic";
  const std::string text = to_markdown(report);
  EXPECT_NE(text.find("| m | 256 | 24 | 1 | - | - | - |"), std::string::npos) << text;
  EXPECT_TRUE(text.starts_with("vgg8s on synthetic\n"));
  EXPECT_EQ(nlohmann::json::parse(to_json(report)).at("about"), "vgg8s on synthetic");
}

TEST(Budget, PointsAboveTheCurveWithTheirStandardErrors) {
  auto runs = control();
  const double cost = 1 / (0.25 * 0.25);  // 16: between the first two budgets
  add_runs(runs, "m", 256, 24, cost, 2 * 25, {88.3, 88.6, 88.9});
  const auto report = report_of(runs);
  EXPECT_EQ(report.rows.size(), 4u);
  const BudgetRow& row = row_of(report, "m", 256, 24);
  EXPECT_NEAR(row.score_mean, 88.6, 1e-9);
  EXPECT_NEAR(row.score_sd, 0.3, 1e-9);
  // Lagrange's weights at the middle: 3/8, 6/8, -1/8. Six runs, three parameters, squares 6 * 0.01.
  const double sd = std::sqrt(0.06 / 3);
  ASSERT_TRUE(row.counted && row.clock);
  EXPECT_NEAR(row.counted->points, 88.6 - (3 * 84 + 6 * 88 - 90) / 8.0, 1e-9);
  EXPECT_NEAR(row.counted->error, std::sqrt(0.09 / 3 + sd * sd * 46 / 128), 1e-9);
  EXPECT_NEAR(row.clock->points, 88.6 - 88, 1e-9);
  EXPECT_NEAR(row.clock->error, std::sqrt(0.09 / 3 + sd * sd / 2), 1e-9);
  EXPECT_FALSE(row_of(report, "bp", 256, 11).counted) << "the control is not its own rival";
}

TEST(Budget, TheBestBatchSizeIsChosenWhereTheMethodStands) {
  auto runs = control(256, 2);
  const auto faster = control(512, 1, -0.5);  // worse at equal cost, half the seconds
  runs.insert(runs.end(), faster.begin(), faster.end());
  add_runs(runs, "m", 256, 20, 25, 25, {88.0, 88.0, 88.0});
  const BudgetReport report = report_of(runs);
  const BudgetRow& row = row_of(report, "m", 256, 20);
  EXPECT_NEAR(row.counted->points, 0, 1e-9);
  EXPECT_EQ(row.best_counted->batch, 256);
  EXPECT_NEAR(row.best_counted->points, 0, 1e-9);
  // At 25 s batch 512 has had cost 25 (87.5), batch 256 only 12.5.
  EXPECT_EQ(row.best_clock->batch, 512);
  EXPECT_NEAR(row.best_clock->points, 0.5, 1e-9);
  EXPECT_GT(row.clock->points, 2);
  // A batch size without a control of its own still has the best one.
  add_runs(runs, "m", 128, 20, 25, 25, {88.0, 88.0, 88.0});
  const BudgetReport other = report_of(runs);
  EXPECT_FALSE(row_of(other, "m", 128, 20).counted);
  EXPECT_NEAR(row_of(other, "m", 128, 20).best_clock->points, 0.5, 1e-9);
}

TEST(Budget, ReproducesPublishedDifferences) {
  // Progressive resolution 16/24/32 over 40/30/30 % of the epochs; multiplications go with the
  // area. The published controls were fitted through every run made, and only their means, some
  // with one digit, are printed: 0.05 by rounding and about 0.1 of standard error.
  const double share = 0.4 * 0.25 + 0.3 * 0.5625 + 0.3;
  std::vector<BudgetRun> vgg, resnet;
  for (const auto& [epochs, score] : {std::pair(12, 87.4), {15, 88.15}, {20, 88.77}, {30, 89.48}}) {
    add_runs(vgg, "bp", 256, epochs, epochs, epochs, {score});
  }
  add_runs(vgg, "progressive", 256, 24, 24 * share, 24 * share, {88.63});
  EXPECT_NEAR(24 * share, 13.65, 1e-9);
  EXPECT_NEAR(row_of(report_of(vgg), "progressive", 256, 24).counted->points, 0.87, 0.15);
  for (const auto& [epochs, score] : {std::pair(8, 85.57), {12, 87.73}, {16, 88.81}}) {
    add_runs(resnet, "bp", 256, epochs, epochs, epochs, {score});
  }
  add_runs(resnet, "progressive", 256, 20, 20 * share, 20 * share, {89.28});
  EXPECT_NEAR(row_of(report_of(resnet), "progressive", 256, 20).counted->points, 1.79, 0.15);
}

TEST(Budget, ASingleRunBorrowsTheSpreadOfTheOthers) {
  auto runs = control();
  add_runs(runs, "m", 256, 20, 25, 50, {88.5});
  // Pooled over the three rows with two runs: 3 * 0.02 / 3. Control: same, at a budget of two.
  const double sd = std::sqrt(0.02);
  EXPECT_NEAR(row_of(report_of(runs), "m", 256, 20).clock->error, std::sqrt(sd * sd * 1.5), 1e-9);

  std::vector<BudgetRun> singles;
  add_runs(singles, "bp", 256, 10, 10, 10, {85});
  add_runs(singles, "bp", 256, 20, 20, 20, {88});
  add_runs(singles, "m", 256, 20, 20, 20, {88.5});
  const auto report = report_of(singles);
  const BudgetRow& row = row_of(report, "m", 256, 20);
  EXPECT_NEAR(row.clock->points, 0.5, 1e-9);
  EXPECT_TRUE(std::isnan(row.clock->error));
  EXPECT_TRUE(std::isnan(row.score_sd));
  EXPECT_NE(verdict(report).find("Not judged, because single runs"), std::string::npos);
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_TRUE(json["rows"][2]["clock"]["error"].is_null());
  EXPECT_TRUE(json["rows"][2]["top1_sd"].is_null());
}

TEST(Budget, ARunWithoutAScoreIsSaidAndNotAveraged) {
  auto runs = control();
  add_runs(runs, "bp", 256, 30, 50, 100, {89, kMissing});
  add_runs(runs, "m", 256, 20, 25, 50, {88, std::numeric_limits<double>::infinity()});
  const auto report = report_of(runs, {30});
  EXPECT_EQ(report.by_seconds.at(0).runs, 6) << "its whole budget is left out of the control";
  EXPECT_TRUE(std::isnan(row_of(report, "m", 256, 20).score_mean));
  EXPECT_FALSE(row_of(report, "m", 256, 20).best_clock);
  EXPECT_TRUE(report.targets.empty());
  EXPECT_EQ(report.notes.size(), 2u);
  EXPECT_NE(verdict(report).find("a run has no score: m (batch 256, 20 ep)."), std::string::npos);
  EXPECT_NO_THROW(to_svg(report));
  EXPECT_TRUE(nlohmann::json::parse(to_json(report))["rows"][2]["top1_mean"].is_null());
}

TEST(Budget, NothingIsSaidWhereTheControlWasNotMeasured) {
  auto runs = control();
  add_runs(runs, "short", 256, 1, 5, 10, {70, 71});
  add_runs(runs, "long", 256, 99, 120, 240, {91, 91.2});
  const auto report = report_of(runs);
  for (const BudgetRow& row : report.rows) {
    EXPECT_FALSE(row.counted || row.clock || row.best_counted || row.best_clock) << row.method;
  }
  EXPECT_NE(verdict(report).find("short (batch 256, 1 ep); long (batch 256, 99 ep)."),
            std::string::npos);
  EXPECT_EQ(verdict(report_of(control())), "Only bp runs: nothing to compare.");
  std::vector<BudgetRun> single;
  add_runs(single, "bp", 256, 10, 10, 10, {85, 85.2});
  add_runs(single, "m", 256, 10, 10, 10, {86, 86.2});
  const auto without = report_of(single);
  EXPECT_TRUE(without.by_cost.empty());
  EXPECT_EQ(without.notes.size(), 1u);
  EXPECT_NO_THROW(to_console(without).append(to_markdown(without)).append(to_svg(without)));
}

TEST(Budget, SecondsToATargetAreInterpolated) {
  std::vector<BudgetRun> runs;
  add_runs(runs, "bp", 256, 10, 10, 10, {80});
  add_runs(runs, "bp", 256, 20, 20, 20, {85});
  add_runs(runs, "bp", 256, 40, 40, 40, {90});
  add_runs(runs, "bp", 512, 10, 10, 8, {79});
  add_runs(runs, "bp", 512, 40, 40, 32, {89});
  add_runs(runs, "half", 256, 10, 5, 5, {80});
  add_runs(runs, "half", 256, 40, 20, 20, {90});
  add_runs(runs, "never", 256, 40, 40, 40, {84});
  add_runs(runs, "soon", 256, 10, 10, 12, {86});
  add_runs(runs, "dips", 256, 10, 10, 10, {81});
  add_runs(runs, "dips", 256, 20, 20, 20, {79});
  add_runs(runs, "dips", 256, 40, 40, 40, {89});
  const auto report = report_of(runs, {20, 15});
  ASSERT_EQ(report.targets.size(), 6u) << "no target of 15 epochs";
  EXPECT_NE(report.notes.back().find("bp 15 ep"), std::string::npos);
  EXPECT_EQ(report.targets[0].target, "bp 20 ep");
  EXPECT_NEAR(*target_of(report, "bp", 256).seconds, 20, 1e-9);
  // From 1 / sqrt(t) to 1 / sqrt(4 t): 0.6 of the way leaves 0.7 of it, half of the way 0.75.
  const double best = 8 / (0.7 * 0.7);  // 16.3
  EXPECT_NEAR(*target_of(report, "bp", 512).seconds, best, 1e-9);
  EXPECT_NEAR(*target_of(report, "bp", 512).ratio, 1, 1e-9);
  EXPECT_NEAR(*target_of(report, "half", 256).seconds, 5 / (0.75 * 0.75), 1e-9);
  EXPECT_NEAR(*target_of(report, "half", 256).ratio, best / 5 * 0.5625, 1e-9);
  EXPECT_FALSE(target_of(report, "never", 256).seconds || target_of(report, "never", 256).ratio);
  EXPECT_EQ(*target_of(report, "soon", 256).seconds, 12);
  EXPECT_EQ(target_of(report, "soon", 256).seconds_bound, Bound::kAtMost);
  EXPECT_EQ(target_of(report, "soon", 256).ratio_bound, Bound::kAtLeast);
  // 81 is had from 10 s on, so half way to 89 lies half way between 20 and 40 s.
  const double root = (1 / std::sqrt(20) + 1 / std::sqrt(40)) / 2;
  EXPECT_NEAR(*target_of(report, "dips", 256).seconds, 1 / (root * root), 1e-9);
  const std::string text = to_console(report);
  EXPECT_NE(text.find("<= 12.0"), std::string::npos);
  EXPECT_NE(text.find(">= 1.36x"), std::string::npos);  // 16.33 / 12
}

TEST(Budget, ABoundOnBackpropIsABoundOnTheRatio) {
  std::vector<BudgetRun> runs;
  add_runs(runs, "bp", 256, 20, 20, 20, {85});
  add_runs(runs, "bp", 512, 20, 20, 15, {86});
  add_runs(runs, "exact", 256, 20, 10, 10, {85});
  add_runs(runs, "soon", 256, 20, 10, 10, {87});
  const auto report = report_of(runs, {20});
  EXPECT_EQ(target_of(report, "exact", 256).ratio_bound, Bound::kAtMost);
  EXPECT_NEAR(*target_of(report, "exact", 256).ratio, 1.5, 1e-9);
  EXPECT_FALSE(target_of(report, "soon", 256).ratio) << "at most over at most says nothing";
}

TEST(Budget, TheVerdictSortsByTwoStandardErrors) {
  auto runs = control();
  add_runs(runs, "up", 256, 20, 25, 50, {88.9, 89.0, 89.1});
  add_runs(runs, "down", 256, 20, 25, 50, {86.9, 87.0, 87.1});
  add_runs(runs, "same", 256, 20, 25, 50, {88.0, 88.1, 88.2});
  const std::string text = verdict(report_of(runs));
  EXPECT_NE(text.find("Above by more than two standard errors: up (batch 256, 20 ep) +1.00"),
            std::string::npos);
  EXPECT_NE(text.find("Below by more than two standard errors: down (batch 256, 20 ep) -1.00"),
            std::string::npos);
  EXPECT_NE(text.find("Cannot be told from it: same"), std::string::npos);
  EXPECT_NE(text.find("3 rows are judged at once"), std::string::npos);
}

TEST(Budget, CsvHoldsEveryDigitAndEmptyCellsForWhatIsMissing) {
  auto runs = control();
  add_runs(runs, "m, n", 256, 20, 25, 50, {88.1});
  const std::string csv = to_csv(report_of(runs));
  EXPECT_EQ(csv.substr(0, csv.find('\n')),
            "method,batch,epochs,n,top1_mean,top1_sd,cost_mean,seconds_mean,counted,counted_error,"
            "clock,clock_error,best_counted,best_counted_error,best_clock,best_clock_error");
  EXPECT_NE(csv.find("\"m, n\",256,20,1,88.1,,25,50,"), std::string::npos);
  const size_t bp = csv.find("bp,256,25,2,88,");
  ASSERT_NE(bp, std::string::npos);
  const std::string line = csv.substr(bp, csv.find('\n', bp) - bp);
  EXPECT_EQ(line.find(",,,,,,,,"), line.size() - 8) << "bp has nothing against itself";
}

TEST(Budget, TheDrawingHasAMarkForEveryBudgetAndADashedControl) {
  auto runs = control();
  add_runs(runs, "m", 256, 20, 25, 50, {88.1, 88.3});
  add_runs(runs, "m", 512, 20, 25, 40, {88.4});
  const std::string text = to_svg(report_of(runs));
  const auto count = [&](const std::string& what) {
    size_t found = 0;
    for (size_t i = text.find(what); i != std::string::npos; i = text.find(what, i + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(" marker\""), 5u + 3u);  // budgets, and the legend's
  EXPECT_EQ(count("stroke-dasharray"), 1u);
  EXPECT_EQ(count(">m, batch 512<"), 1u);
}

TEST(Budget, RunsThatDoNotFitAreRefused) {
  EXPECT_THROW(report_of({}), Error);
  std::vector<BudgetRun> runs;
  add_runs(runs, "m", 256, 20, 25, 50, {88.1});
  EXPECT_THROW(report_of(runs), Error) << "no control";
  runs = control();
  runs.push_back(runs[1]);
  EXPECT_THROW(report_of(runs), Error) << "twice";
  for (const double wrong : {0.0, -1.0, kMissing}) {
    runs = control();
    runs[0].seconds = wrong;
    EXPECT_THROW(report_of(runs), Error) << wrong;
    runs = control();
    runs[0].cost = wrong;
    EXPECT_THROW(report_of(runs), Error) << wrong;
  }
}

}  // namespace
}  // namespace adagp::report

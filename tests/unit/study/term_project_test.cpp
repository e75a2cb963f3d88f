#include "adagp/papers/study/term_project.h"

#include <gtest/gtest.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "adagp/base/schedule/schedule.h"
#include "adagp/papers/study/recipes.h"

namespace adagp::study {
namespace {

// Every printed total is 8 warm-up epochs and 12 GP epochs, to the cent of the rounded parts.
TEST(TermProject, PrintedTotalsAreComputedAndNotMeasured) {
  for (const TermProjectBatch& row : kTermProjectBatches) {
    const double total =
        kTermProjectBpEpochs * row.warm_up_epoch + kTermProjectGpEpochs * row.gp_epoch;
    // Each part is printed with two digits: 20 epochs of half a hundredth.
    EXPECT_NEAR(total, row.total, 20 * 0.005) << row.batch;
  }
}

TEST(TermProject, PrintedSpeedupsAreTheSecondsRatios) {
  double sum = 0;
  for (const TermProjectNetwork& row : kTermProjectNetworks) {
    EXPECT_NEAR(row.bp_seconds / row.adagp_seconds, row.speedup, 0.011) << row.model;
    sum += row.speedup;
  }
  EXPECT_NEAR(sum / 4, kTermProjectMeanSpeedup, 0.01);
}

TEST(TermProject, MethodTakesLongerThanBackpropByItsOwnNumbers) {
  EXPECT_NEAR(term_slowdown(kTermProjectBatches[0]), 12317.85 / (20 * 118.27), 1e-12);
  EXPECT_NEAR(term_slowdown(kTermProjectBatches[2]), 3.683, 0.001);
  EXPECT_NEAR(term_slowdown(kTermProjectBatches[4]), 2.828, 0.001);
  EXPECT_NEAR(term_batch_correlation(), -0.996, 0.0005);
}

TEST(TermProject, FormulaIsTheRatioOfTotals) {
  // 20 epochs of 5 s beside 8 of 6 s and 12 of 2 s.
  EXPECT_DOUBLE_EQ(term_formula(5, 6, 2, 8, 12), 100.0 / 72);
  EXPECT_DOUBLE_EQ(term_formula(5, 5, std::nan(""), 20, 0), 1);
}

TEST(TermProject, TextHasTheMeasuredFiguresAndWhatIsMissing) {
  TermRuns vgg11{"vgg11", 32, 10000, "last", {}, {6, 6}, {2, 2}, {}};
  for (int64_t seed = 42; seed < 44; ++seed) {
    vgg11.runs.push_back({"bp", seed, 80, 20, 1, 0, {}});
    vgg11.runs.push_back({"adagp", seed, 70, 8, 1, 1, {}});
    vgg11.runs.push_back({kPredictorOnly, seed, 80, 30, 1, 0, {}});
  }
  vgg11.diverged = {"zero seed 42", "zero seed 43", "adagp seed 44"};
  TermProject project;
  project.networks = {term_row(vgg11)};
  project.runs_open = 3;
  const std::string text = term_text(project, false);
  EXPECT_NE(text.find("1.50 times as long"), std::string::npos) << text;
  EXPECT_NE(text.find("2.50x"), std::string::npos) << text;
  EXPECT_NE(text.find("70.00 ± 0.00, 1 diverged"), std::string::npos) << text;
  EXPECT_NE(text.find("  2 diverged  "), std::string::npos) << text;
  EXPECT_NE(text.find("3 runs are not done yet"), std::string::npos);
  const auto json = nlohmann::json::parse(term_json(project));
  // One BP and one GP epoch a run: 2 * 10 / (6 + 2).
  EXPECT_DOUBLE_EQ(json["networks"][0]["speedup_their_formula"], 2.5);
  EXPECT_TRUE(json["batches"].empty());
}

TEST(TermProject, Figure8HasALineForEachTailAndTheControlsAcross) {
  const auto runs = [](int64_t outputs, const char* tail, std::vector<double> scores) {
    TermRuns out{"vgg11", 32, outputs, tail, {}, {}, {}, {}};
    int64_t seed = 42;
    for (const double score : scores) out.runs.push_back({"adagp", seed++, score, 8, 1, 1, {}});
    return term_row(out);
  };
  TermProject project;
  project.outputs = {runs(100, "last", {70, 74}), runs(1000, "last", {}),  // diverged
                     runs(50000, "last", {60, 60}), runs(1000, "cyclic", {50})};
  TermRuns network{"vgg11", 32, 10000, "last", {{"bp", 42, 80, 20, 1, 0, {}}}, {}, {}, {}};
  project.networks = {term_row(network)};
  const auto charts = term_charts(project);
  ASSERT_EQ(charts.size(), 1u);
  EXPECT_EQ(charts[0].first, "fig8-vgg11.svg");
  const auto& lines = charts[0].second.series;
  ASSERT_EQ(lines.size(), 3u);
  using Points = std::vector<std::pair<double, double>>;
  EXPECT_EQ(lines[0].name, "adagp, tail last");
  EXPECT_EQ(lines[0].points, (Points{{100, 72}, {50000, 60}}));
  EXPECT_NEAR(lines[0].errors[0], std::sqrt(8), 1e-12);  // n - 1
  EXPECT_EQ(lines[1].points, (Points{{1000, 50}}));
  EXPECT_EQ(lines[2].name, "bp");
  EXPECT_EQ(lines[2].points, (Points{{100, 80}, {50000, 80}}));
  EXPECT_NE(report::svg(charts[0].second).find("<svg"), std::string::npos);
  project.outputs = {runs(1000, "last", {70})};  // one size alone
  EXPECT_NE(report::svg(term_charts(project)[0].second).find("<svg"), std::string::npos);
  project.outputs = {runs(1000, "last", {})};
  EXPECT_TRUE(term_charts(project).empty());
}

TEST(TermProject, QuickHasTheSameShareOfGpEpochs) {
  const auto whole = schedule::Schedule::parse(
      "5ep bp, 4ep gp, 1ep bp, 3ep gp, 1ep bp, 3ep gp, 1ep bp, 2ep gp", 20);
  EXPECT_NE(std::string(kTermProjectRecipe).find(whole.str()), std::string::npos);
  const auto quick = schedule::Schedule::parse(kTermProjectQuickSchedule, 10);
  EXPECT_DOUBLE_EQ(quick.predicted_share(10, 100), whole.predicted_share(20, 100));
}

}  // namespace
}  // namespace adagp::study

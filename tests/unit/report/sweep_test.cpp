#include "adagp/results/report/sweep.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/stats.h"

namespace adagp::report {
namespace {

constexpr double kNotThere = std::numeric_limits<double>::quiet_NaN();

TEST(ParetoLayers, AgreeWithPeelingByTheDefinition) {
  core::Rng rng(5);
  std::vector<std::vector<double>> values;
  for (int i = 0; i < 40; ++i) {
    values.push_back({double(rng.below(8)), double(rng.below(8)), double(rng.below(8))});
  }
  values.push_back({1, kNotThere, 2});
  const std::vector<int> layers = pareto_layers(values);
  EXPECT_EQ(layers.back(), -1);
  // A layer is one more than the largest layer of those that dominate: the longest chain above.
  const auto beats = [&](size_t a, size_t b) {
    bool all = true, some = false;
    for (size_t k = 0; k < 3; ++k) {
      all = all && values[a][k] >= values[b][k];
      some = some || values[a][k] > values[b][k];
    }
    return all && some;
  };
  for (size_t i = 0; i < 40; ++i) {
    int expected = 0;
    for (size_t j = 0; j < 40; ++j) {
      if (beats(j, i)) expected = std::max(expected, layers[j] + 1);
    }
    EXPECT_EQ(layers[i], expected) << i;
  }
}

SweepPointRuns point_of(const std::string& name, std::vector<double> scores, double seconds) {
  SweepPointRuns point;
  point.name = name;
  point.values = {name};
  for (size_t i = 0; i < scores.size(); ++i) {
    point.runs.push_back({static_cast<int64_t>(i), scores[i], seconds / 2, seconds});
  }
  return point;
}

TEST(SweepReport, MeansErrorsAndPairedDifferencesByHand) {
  SweepPointRuns point = point_of("a", {90, 92, 94}, 10);
  point.bp = point_of("", {89, 90, 94}, 10).runs;   // differences 1, 2, 0
  point.skip = point_of("", {91, 93, 95}, 6).runs;  // always 1 above
  point.skip.erase(point.skip.begin());             // seed 0 has no skip
  const SweepReport report = sweep_report({point}, {"k"}, {}, {"score", "seconds"});
  const SweepRow& row = report.rows.at(0);
  EXPECT_DOUBLE_EQ(row.score_mean, 92);
  EXPECT_DOUBLE_EQ(row.score_error, 2 / std::sqrt(3.0));
  EXPECT_DOUBLE_EQ(row.cost_mean, 5);
  ASSERT_TRUE(row.bp && row.skip);
  EXPECT_DOUBLE_EQ(row.bp->above.mean, 1);
  EXPECT_EQ(row.bp->above.n, 3);
  EXPECT_DOUBLE_EQ(row.skip->above.mean, -1);
  EXPECT_EQ(row.skip->above.n, 2);
  EXPECT_TRUE(row.front);
}

TEST(SweepReport, FrontHasWhatNothingElseBeats) {
  const SweepReport report =
      sweep_report({point_of("slow", {95, 95}, 20), point_of("fast", {90, 90}, 5),
                    point_of("beaten", {89, 91}, 6), point_of("diverged", {kNotThere, 99}, 1)},
                   {"k"}, {}, {"score", "seconds"});
  EXPECT_TRUE(report.rows[0].front);
  EXPECT_TRUE(report.rows[1].front);
  EXPECT_FALSE(report.rows[2].front);
  // The seed that did not diverge is no fair sample of the point.
  EXPECT_FALSE(report.rows[3].front);
  EXPECT_EQ(report.rows[3].diverged, 1);
  EXPECT_TRUE(std::isnan(report.rows[3].score_mean));
  EXPECT_NE(to_console(report).find("diverged 1/2"), std::string::npos);
}

TEST(SweepReport, VerdictNeedsThreeSeedsAndAnIntervalOnOneSide) {
  SweepPointRuns better = point_of("better", {90.0, 91.0, 92.0}, 10);
  better.bp = point_of("", {89.0, 89.9, 91.1}, 10).runs;  // 1, 1.1, 0.9
  SweepPointRuns unclear = point_of("unclear", {90, 91, 92}, 10);
  unclear.bp = point_of("", {92, 91, 89.9}, 10).runs;
  SweepPointRuns few = point_of("few", {90, 91}, 10);
  few.bp = point_of("", {80, 81}, 10).runs;
  const std::string text =
      verdict(sweep_report({better, unclear, few}, {"k"}, {}, {"score", "seconds"}));
  EXPECT_NE(
      text.find("Of 2 points beside backprop of equal cost, above it: better; below it: none"),
      std::string::npos)
      << text;
  EXPECT_NE(verdict(sweep_report({few}, {"k"}, {}, {"score", "cost"})).find("fewer than 3"),
            std::string::npos);
}

TEST(SweepReport, FilesHaveWhatDoesNotExistAsNothing) {
  SweepPointRuns point = point_of("a", {90}, 10);
  const SweepReport report = sweep_report({point}, {"optim.lr"}, {}, {"score", "seconds"});
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_TRUE(json["points"][0]["bp"].is_null());
  EXPECT_TRUE(json["points"][0]["speedup"].is_null());
  EXPECT_TRUE(json["points"][0]["top1_error"].is_null());
  EXPECT_EQ(json["points"][0]["values"]["optim.lr"], "a");
  const auto lines = core::split(core::trim(to_csv(report)), '\n');
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(core::split(lines[0], ',').size(), core::split(lines[1], ',').size());
  EXPECT_NE(to_svg(report).find("<svg"), std::string::npos);
}

TEST(SweepAxes, AreNamedAndAtLeastTwo) {
  EXPECT_EQ(parse_axes("acc,seconds", "top1"), (std::vector<std::string>{"score", "seconds"}));
  EXPECT_EQ(parse_axes("top1, cost,speedup", "top1").size(), 3U);
  for (const char* bad : {"acc", "acc,time", "acc,top1", ""}) {
    EXPECT_THROW(parse_axes(bad, "top1"), UsageError) << bad;
  }
  try {
    parse_axes("acc,acc", "top1");
    FAIL() << "accepted";
  } catch (const UsageError& error) {  // names what was written, not the table's own name for it
    const std::string text = error.what();
    EXPECT_NE(text.find("'acc' (the score) is given twice"), std::string::npos) << text;
    EXPECT_EQ(text.find("'score'"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace adagp::report

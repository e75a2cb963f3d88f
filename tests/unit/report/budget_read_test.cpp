#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/results/report/budget.h"

namespace adagp::report {
namespace {

BudgetReport small_report() {
  std::vector<BudgetRun> runs;
  for (int64_t seed = 0; seed < 3; ++seed) {
    const auto noise = 0.25 * static_cast<double>(seed);
    for (const int64_t epochs : {10, 15, 30}) {
      const auto length = static_cast<double>(epochs);
      for (const int64_t batch : {64, 128}) {
        runs.push_back({"bp", epochs, batch, seed, 90 - 60 / length + noise, length, 2 * length});
      }
    }
    runs.push_back({"skip[k=2]", 20, 128, seed, 86 + noise, 12, 25});
  }
  BudgetReport report = budget_report(runs, {"top1", "top-1", true}, 128, {15, 30});
  report.about = "net on toy";
  return report;
}

TEST(BudgetReport, IsReadBackAsItWasWritten) {
  const BudgetReport report = small_report();
  const std::string json = to_json(report);
  const BudgetReport again = read_budget(json, "budget.json");
  EXPECT_EQ(to_json(again), json);
  EXPECT_EQ(to_svg(again), to_svg(report));
}

TEST(BudgetReport, SecondsToTheScoreOfATargetAreTheTargets) {
  const BudgetReport report = small_report();
  ASSERT_FALSE(report.targets.empty());
  const auto rows = time_to_score(report, report.targets[0].score);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].method, report.targets[i].method);
    EXPECT_EQ(rows[i].seconds, report.targets[i].seconds);
    EXPECT_EQ(rows[i].ratio, report.targets[i].ratio);
  }
}

TEST(BudgetReport, AnythingElseIsADataError) {
  for (const char* text :
       {"", "[]", "{}", "{\"metric\": 3}", "{\"metric\":\"top1\",\"runs\":[]}"}) {
    EXPECT_THROW(read_budget(text, "budget.json"), DataError) << text;
  }
}

}  // namespace
}  // namespace adagp::report

// Does the plan of a run lay its epochs out, and say before the run what they will be?

#include "adagp/base/plan/run_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"
#include "adagp/base/plan/planned_methods.h"

namespace adagp::plan {
namespace {

constexpr int64_t kExamples = 1000, kEpochs = 8;

config::RunConfig config_of(const std::string& method) {
  config::RunConfig c;
  c.method = method;
  c.batch = 50;
  c.epochs = kEpochs;
  c.seed = 3;
  return c;
}

RunPlan plan_of(const std::string& method) {
  return make_run_plan(config_of(method), {16, kExamples});
}

EpochPlan epoch_of(const RunPlan& plan, int64_t epoch, const std::vector<float>& losses) {
  auto chance = plan.chance(epoch);
  const auto weights = plan.weights(chance, losses);
  return plan.lay_out(std::move(chance), weights);
}

std::vector<float> rising() {
  std::vector<float> losses(kExamples);
  std::iota(losses.begin(), losses.end(), 0.0F);
  return losses;
}

std::string refusal(const std::string& method, int64_t side = 16) {
  try {
    make_run_plan(config_of(method), {side, kExamples});
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(RunPlan, PlainBackpropHasAllExamplesInTheEnginesOrder) {
  const RunPlan plan = plan_of("bp");
  EXPECT_FALSE(plan.differs());
  const EpochPlan epoch = epoch_of(plan, 2, {});
  EXPECT_EQ(epoch.order, core::permutation(kExamples, core::mix({3, 2})));
  ASSERT_EQ(epoch.batches.size(), 20U);
  for (size_t i = 0; i < epoch.batches.size(); ++i) {
    EXPECT_EQ(epoch.batches[i].begin, static_cast<int64_t>(50 * i));
    EXPECT_EQ(epoch.batches[i].count, 50);
  }
}

TEST(RunPlan, ARuleKeepsTheOrderAndPrefersLargeLosses) {
  const RunPlan plan = plan_of("stored-loss");
  const EpochPlan all = epoch_of(plan, 0, rising()), some = epoch_of(plan, 3, rising());
  EXPECT_EQ(all.order.size(), static_cast<size_t>(kExamples));
  EXPECT_NEAR(static_cast<double>(some.order.size()), kExamples / 2.0, 60);
  const auto whole = core::permutation(kExamples, core::mix({3, 3}));
  EXPECT_TRUE(std::includes(whole.begin(), whole.end(), some.order.begin(), some.order.end(),
                            [&](int64_t a, int64_t b) {
                              const auto at = [&](int64_t i) {
                                return std::find(whole.begin(), whole.end(), i) - whole.begin();
                              };
                              return at(a) < at(b);
                            }));
  const auto large = std::count_if(some.order.begin(), some.order.end(),
                                   [](int64_t i) { return i >= kExamples / 2; });
  EXPECT_GT(large, 2 * (static_cast<std::ptrdiff_t>(some.order.size()) - large));
}

TEST(RunPlan, ExamplesWithoutALossCountAsTheLargest) {
  const RunPlan plan = plan_of("stored-loss");
  std::vector<float> losses(kExamples, 1.0F);
  for (size_t i = 0; i < 100; ++i) losses[i] = i % 2 == 0 ? kUnseen : std::nanf("");
  const EpochPlan epoch = epoch_of(plan, 3, losses);
  // Ranks 900 to 1000 of 1000: nearly all of them stay.
  EXPECT_GE(
      std::count_if(epoch.order.begin(), epoch.order.end(), [](int64_t i) { return i < 100; }), 85);
}

// The cross-entropy of a sure answer is -0, whose bits are those of no small number.
TEST(RunPlan, ALossOfZeroIsTheSmallestWhateverItsSign) {
  const RunPlan plan = plan_of("stored-loss");
  std::vector<float> losses(kExamples, 1.0F);
  std::fill(losses.begin(), losses.begin() + 500, 0.0F);
  const EpochPlan plus = epoch_of(plan, 3, losses);
  std::fill(losses.begin(), losses.begin() + 500, -0.0F);
  EXPECT_EQ(epoch_of(plan, 3, losses).order, plus.order);
}

TEST(RunPlan, ProgressRisesByTheExamplesThatAreExpected) {
  RunPlan plan = plan_of("stored-loss");
  EXPECT_EQ(plan.progress(0, 0), 0);
  EXPECT_EQ(plan.progress(kEpochs, 0), 1);
  const auto stages = plan.stages();
  double all = 0;
  for (const auto& stage : stages) {
    all += static_cast<double>((stage.end - stage.begin) * stage.examples);
  }
  EXPECT_EQ(stages.front().examples, kExamples);
  EXPECT_EQ(stages.back().examples, kExamples);
  EXPECT_DOUBLE_EQ(plan.progress(1, 0), kExamples / all);
  EXPECT_DOUBLE_EQ(plan.progress(0, 0.5), kExamples / all / 2);
  double last = -1;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (const double within : {0.0, 0.3, 0.9}) {
      EXPECT_GT(plan.progress(epoch, within), last);
      last = plan.progress(epoch, within);
    }
  }
}

TEST(RunPlan, AShareOfAnEpochIsOfItsExamples) {
  const EpochPlan plan{{}, {{0, 10}, {10, 30}, {40, 40}}};
  EXPECT_EQ(share_before(plan, 0), 0);
  EXPECT_DOUBLE_EQ(share_before(plan, 1), 10 / 80.0);
  EXPECT_DOUBLE_EQ(share_before(plan, 2), 40 / 80.0);
}

TEST(RunPlan, TheNominalStepLosesNoBatchToRounding) {
  for (const int64_t total : {7, 390, 5860}) {
    for (int64_t step = 0; step < total; ++step) {
      const double share = static_cast<double>(step) / static_cast<double>(total);
      EXPECT_EQ(nominal_step(share, total), step);
    }
  }
}

TEST(PlannedMethods, JoinOnePlanOfBatchesAndOneRule) {
  const RunPlan plan = plan_of("progressive+stored-loss");
  EXPECT_TRUE(plan.rule() && plan.batch_plan().resizes_batches);
  EXPECT_EQ(plan.batch_plan().image_sides, (std::vector<int64_t>{8, 12}));
  EXPECT_NE(refusal("stored-loss+infobatch").find("two rules"), std::string::npos);
  EXPECT_NE(refusal("progressive+low-res").find("two plans of batches"), std::string::npos);
  EXPECT_NE(refusal("stored-los").find("'stored-loss'"), std::string::npos);
  EXPECT_NE(refusal("progressive", 0).find("square images"), std::string::npos);
}

TEST(PlannedMethods, OnlyThoseWithGpBatchesFollowTheSchedule) {
  EXPECT_TRUE(plan_of("low-res").context(kEpochs - 1, 0).cheap());
  EXPECT_FALSE(plan_of("progressive").context(kEpochs - 1, 0).cheap());
}

}  // namespace
}  // namespace adagp::plan

// Batches by what they do: plans counted by hand, and the way to JSON and back.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/plan/batch_work.h"

namespace adagp::plan {
namespace {

constexpr int64_t kPlanExamples = 100, kPlanSide = 16;

config::RunConfig ten_epochs_of(const std::string& method) {
  config::RunConfig c;
  c.method = method;
  c.epochs = 10;
  c.batch = 10;
  c.schedule = "2ep bp, 4:1";
  return c;
}

BatchCounts planned(const config::RunConfig& config) {
  return planned_batches(config, {kPlanSide, kPlanExamples},
                         [](int64_t blocks) { return 3 * blocks; });
}
BatchCounts planned(const std::string& method) {
  return planned(ten_epochs_of(method));
}

TEST(BatchWork, ScheduledMethodsHaveTheirCheapBatches) {
  // Two epochs of BP, eight of 10 batches with 8 GP batches each.
  const auto with = [](Work exact, Work cheap) {
    return BatchCounts{{{exact, 0, 10, 0}, 36}, {{cheap, 0, 10, 0}, 64}};
  };
  EXPECT_EQ(planned("bp"), (BatchCounts{{{Work::kBackprop, 0, 10, 0}, 100}}));
  EXPECT_EQ(planned("skip"), with(Work::kBackprop, Work::kNothing));
  EXPECT_EQ(planned("zero"), with(Work::kBackprop, Work::kUpdate));
  EXPECT_EQ(planned("adagp"), with(Work::kLearn, Work::kPredict));
}

TEST(BatchWork, SmallerImagesComeInLargerBatches) {
  // 0.4, 0.3 and 0.3 of ten epochs; 40 images of side 8 instead of 10 (2 batches), 16 of side 12
  // (17.8 as a multiple of 8; 6 batches).
  EXPECT_EQ(planned("progressive"), (BatchCounts{{{Work::kBackprop, 8, 40, 0}, 4 * 2},
                                                 {{Work::kBackprop, 12, 16, 0}, 3 * 6},
                                                 {{Work::kBackprop, 0, 10, 0}, 3 * 10}}));
}

TEST(BatchWork, FrozenBlocksAreRows) {
  // After a half of the epochs one block, after three quarters (epoch 8) two.
  EXPECT_EQ(planned("freeze"), (BatchCounts{{{Work::kBackprop, 0, 10, 0}, 50},
                                            {{Work::kBackprop, 0, 10, 3}, 30},
                                            {{Work::kBackprop, 0, 10, 6}, 20}}));
}

TEST(BatchWork, ARuleThatKeepsAllChangesNothing) {
  for (const std::string method : {"bp", "progressive", "freeze", "skip"}) {
    config::RunConfig c = ten_epochs_of(method + "+stored-loss");
    c.stored_loss_power = 0;
    EXPECT_EQ(planned(c), planned(method)) << method;
    c.stored_loss_power = 1;
    EXPECT_NE(planned(c), planned(method)) << method;
  }
}

TEST(BatchWork, WhatIsNotInTheTableIsOther) {
  for (const char* method : {"small-batch", "ema"}) {
    EXPECT_EQ(work_of(ten_epochs_of(method), schedule::Phase::kBackprop), Work::kOther) << method;
  }
  EXPECT_EQ(work_of(ten_epochs_of("selective+stored-loss"), schedule::Phase::kPredict),
            Work::kOther);
  EXPECT_EQ(work_of(ten_epochs_of("equal-time"), schedule::Phase::kBackprop), Work::kBackprop);
  config::RunConfig c = ten_epochs_of("adagp");
  c.head = "exact";  // a GP batch then has a part of a backward pass
  EXPECT_EQ(work_of(c, schedule::Phase::kPredict), Work::kOther);
  EXPECT_EQ(work_of(c, schedule::Phase::kBackprop), Work::kLearn);
  for (const char* method : {"auto", "equal-time", "adagp+skip", "skip+stored-loss+infobatch"}) {
    EXPECT_THROW(planned(method), UsageError) << method;
  }
}

TEST(BatchWork, ComesBackFromJson) {
  const BatchCounts counts = planned("freeze");
  EXPECT_EQ(batch_counts(to_json(counts)), counts);
  nlohmann::json list = to_json(counts);
  list[1]["examples"] = 0;
  try {
    batch_counts(list);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(),
                 "entry 2 of 'batches': key 'examples' is 0, expected 1 to 281474976710656");
  }
}

}  // namespace
}  // namespace adagp::plan

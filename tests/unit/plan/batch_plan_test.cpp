// Do the plans of batches keep their arithmetic, and refuse what cannot be?

#include "adagp/base/plan/batch_plan.h"

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/base/plan/frozen_blocks.h"
#include "adagp/base/plan/image_sizes.h"

namespace adagp::plan {
namespace {

constexpr auto kBp = schedule::Phase::kBackprop, kGp = schedule::Phase::kPredict;

config::RunConfig small_images() {
  config::RunConfig c;
  c.batch = 12;
  c.low_res.sizes = {8, 12, 16};
  c.low_res.shares = {0.4, 0.3, 0.3};
  return c;
}

std::string refusal(const std::function<void()>& make) {
  try {
    make();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(BatchPlan, WithoutFunctionsIsTheUsualBatch) {
  const BatchPlan plan;
  const BatchShape shape = plan.at({3, 10, kGp});
  EXPECT_EQ(shape.image_side, 0);
  EXPECT_EQ(shape.examples, 0);
  EXPECT_EQ(shape.rate, 1);
  EXPECT_EQ(shape.frozen_blocks, 0);
  EXPECT_TRUE(plan.turns_in(10).empty());
}

TEST(ImageSizes, ProgressiveGrowsImagesAndShrinksBatches) {
  const BatchPlan plan = progressive_plan(small_images(), {16, 1000});
  std::vector<int64_t> sides, examples;
  for (int64_t epoch = 0; epoch < 10; ++epoch) {
    const BatchShape shape = plan.at({epoch, 10, kBp});
    sides.push_back(shape.image_side);
    examples.push_back(shape.examples);
  }
  EXPECT_EQ(sides, (std::vector<int64_t>{8, 8, 8, 8, 12, 12, 12, 0, 0, 0}));
  // 4 times 12, and 16/9 times 12 is 21, in eights 16.
  EXPECT_EQ(examples, (std::vector<int64_t>{48, 48, 48, 48, 16, 16, 16, 0, 0, 0}));
  EXPECT_EQ(plan.image_sides, (std::vector<int64_t>{8, 12}));
  EXPECT_TRUE(plan.resizes_batches);
  EXPECT_EQ(plan.turns_in(10), (std::vector<int64_t>{9, 4, 7, 10}));
}

TEST(ImageSizes, ALearningRateGrowsWithItsBatchByThePower) {
  config::RunConfig c = small_images();
  c.low_res.scale_lr = 0.5;
  EXPECT_DOUBLE_EQ(progressive_plan(c, {16, 1000}).at({0, 10, kBp}).rate, 2);
  c.low_res.scale_batch = false;
  const BatchPlan fixed = progressive_plan(c, {16, 1000});
  EXPECT_EQ(fixed.at({0, 10, kBp}).rate, 1);
  EXPECT_EQ(fixed.at({0, 10, kBp}).image_side, 8);
  EXPECT_FALSE(fixed.resizes_batches);
}

TEST(ImageSizes, ABatchHasNoMoreExamplesThanTheData) {
  EXPECT_EQ(progressive_plan(small_images(), {16, 30}).at({0, 10, kBp}).examples, 30);
  EXPECT_EQ(progressive_plan(small_images(), {16, 5}).at({0, 10, kBp}).examples, 12);
}

TEST(ImageSizes, AShortRunEndsWithWholeImages) {
  EXPECT_EQ(progressive_plan(small_images(), {16, 1000}).at({0, 1, kBp}).image_side, 0);
}

TEST(ImageSizes, LowResIsForCheapBatchesAlone) {
  const BatchPlan plan = low_res_plan(small_images(), {16, 1000});
  EXPECT_EQ(plan.at({0, 10, kGp}).image_side, 8);
  EXPECT_EQ(plan.at({0, 10, kGp}).examples, 48);
  EXPECT_EQ(plan.at({0, 10, kBp}).image_side, 0);
  EXPECT_EQ(plan.at({0, 10, kBp}).rate, 1);
  EXPECT_TRUE(plan.turns_in(10).empty());
}

TEST(ImageSizes, RefusesWhatCannotBe) {
  const auto make = [](const config::RunConfig& c) {
    return refusal([&] { progressive_plan(c, {16, 1000}); });
  };
  config::RunConfig c = small_images();
  c.low_res.sizes = {8, 17, 16};
  EXPECT_NE(make(c).find("low_res.sizes: 17, expected 1 to 16"), std::string::npos) << make(c);
  c = small_images();
  c.low_res.shares = {0.4, 0.3};
  EXPECT_NE(make(c).find("3 and 2 numbers"), std::string::npos) << make(c);
  c.low_res.shares = {0.4, 0.3, 0.2};
  EXPECT_NE(make(c).find("add up to 0.9"), std::string::npos) << make(c);
}

TEST(Freeze, BlocksStopFromTheirEpochOn) {
  config::RunConfig c;
  c.freeze.at = {0.5, 0.75};
  c.freeze.blocks = {1, 2};
  const BatchPlan plan = freeze_plan(c);
  std::vector<int64_t> frozen;
  for (int64_t epoch = 0; epoch < 8; ++epoch) {
    frozen.push_back(plan.at({epoch, 8, kBp}).frozen_blocks);
  }
  EXPECT_EQ(frozen, (std::vector<int64_t>{0, 0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(plan.turns_in(8), (std::vector<int64_t>{4, 6}));
  c.freeze.at = {0.5, 1.5};
  EXPECT_NE(refusal([&] { freeze_plan(c); }).find("freeze.at: 1.5"), std::string::npos);
  c.freeze.at = {0.5};
  EXPECT_NE(refusal([&] { freeze_plan(c); }).find("1 and 2 numbers"), std::string::npos);
}

}  // namespace
}  // namespace adagp::plan

// Which examples are held out, and does a rule choose among the others as if there were no more?

#include "adagp/base/plan/held_out.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"

namespace adagp::plan {
namespace {

config::RunConfig with_batch(int64_t batch) {
  config::RunConfig c;
  c.batch = batch;
  return c;
}

TEST(HeldOut, IsATwentiethDrawnByTheSeed) {
  config::RunConfig c = with_batch(10);
  const auto first = watched_examples(c, 1000);
  EXPECT_EQ(first.size(), 50U);
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 50U) << "one of them twice";
  EXPECT_GE(*std::min_element(first.begin(), first.end()), 0);
  EXPECT_LT(*std::max_element(first.begin(), first.end()), 1000);
  EXPECT_EQ(watched_examples(c, 1000), first);
  c.seed = 1;
  EXPECT_NE(watched_examples(c, 1000), first);
}

TEST(HeldOut, IsABatchAtLeastAndLeavesABatch) {
  EXPECT_EQ(watched_examples(with_batch(80), 1000).size(), 80U);
  EXPECT_EQ(watched_examples(with_batch(500), 1000).size(), 500U);
  try {
    watched_examples(with_batch(501), 1000);
    FAIL();
  } catch (const UsageError& error) {
    const std::string message = error.what();
    for (const char* part : {"policy.watch = held-out", "1000 training examples", "501"}) {
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
}

TEST(HeldOut, WithoutARuleAllOthersCountOnce) {
  const std::vector<float> losses(6);
  const std::vector<double> draws(6);
  const SelectionRule rule = all_but({4, 1});
  EXPECT_FALSE(rule.by_loss);
  EXPECT_EQ(rule.weights({}, {losses, draws, 1, 3}), (std::vector<float>{1, 0, 1, 1, 0, 1}));
}

TEST(HeldOut, ARuleIsShownTheOthersAlone) {
  constexpr int64_t kAll = 200;
  const config::RunConfig c;
  core::Rng rng(3);
  std::vector<float> losses;
  for (int64_t i = 0; i < kAll; ++i) losses.push_back(static_cast<float>(rng.uniform()));
  const auto draws = selection_draws(0, 5, kAll);
  const auto out = draw_held_out(0, kAll, 30);
  std::vector<float> other_losses;
  std::vector<double> other_draws;
  std::vector<size_t> others;
  for (size_t i = 0; i < losses.size(); ++i) {
    if (std::find(out.begin(), out.end(), static_cast<int64_t>(i)) != out.end()) continue;
    others.push_back(i);
    other_losses.push_back(losses[i]);
    other_draws.push_back(draws[i]);
  }
  for (const auto& inner : {stored_loss_rule, infobatch_rule}) {
    const SelectionRule rule = all_but(out, {inner});
    EXPECT_TRUE(rule.by_loss);
    const auto weights = rule.weights(c, {losses, draws, 5, 100});
    const auto expected = inner(c, {other_losses, other_draws, 5, 100});
    EXPECT_NE(std::count(expected.begin(), expected.end(), 0.0F), 0) << "it leaves nothing out";
    for (const int64_t i : out) EXPECT_EQ(weights[static_cast<size_t>(i)], 0) << i;
    for (size_t k = 0; k < others.size(); ++k) EXPECT_EQ(weights[others[k]], expected[k]) << k;
  }
}

TEST(HeldOut, BatchesHaveEveryExampleOnce) {
  const EpochPlan plan = in_batches({7, 3, 9, 1, 5}, 2);
  EXPECT_EQ(plan.order, (std::vector<int64_t>{7, 3, 9, 1, 5}));
  ASSERT_EQ(plan.batches.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(plan.batches[i].begin, static_cast<int64_t>(2 * i));
    EXPECT_EQ(plan.batches[i].count, i < 2 ? 2 : 1);
  }
}

}  // namespace
}  // namespace adagp::plan

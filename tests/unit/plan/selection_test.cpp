// Are examples kept as often as the rules say, and do the weights make up for those left out?

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "adagp/base/core/rng.h"
#include "adagp/base/plan/selection.h"

namespace adagp::plan {
namespace {

std::vector<float> some_losses(size_t count) {
  core::Rng rng(3);
  std::vector<float> losses(count);
  for (float& loss : losses) loss = static_cast<float>(-std::log(1 - rng.uniform()));
  return losses;
}

// How often each example is kept, and the mean of its weights, over many draws.
struct Often {
  std::vector<double> kept, weight;
};
Often over_draws(const config::RunConfig& c, const SelectionRule& rule,
                 const std::vector<float>& losses, int draws) {
  Often out{std::vector<double>(losses.size()), std::vector<double>(losses.size())};
  for (int i = 0; i < draws; ++i) {
    const auto chance =
        selection_draws(static_cast<uint64_t>(i), 5, static_cast<int64_t>(losses.size()));
    const auto weights = rule.weights(c, {losses, chance, 5, 100});
    for (size_t k = 0; k < losses.size(); ++k) {
      out.kept[k] += weights[k] != 0 ? 1.0 / draws : 0;
      out.weight[k] += static_cast<double>(weights[k]) / draws;
    }
  }
  return out;
}

TEST(Selection, RanksByLoss) {
  auto losses = some_losses(1000);
  losses[17] = std::numeric_limits<float>::infinity();
  losses[18] = 0;
  const auto order = by_loss(losses);
  ASSERT_EQ(order.size(), losses.size());
  EXPECT_EQ(order.front(), 18U);
  EXPECT_EQ(order.back(), 17U);
  std::vector<bool> seen(losses.size());
  for (size_t i = 0; i < order.size(); ++i) {
    seen[order[i]] = true;
    // Losses that agree to 15 bits may stand in any order.
    if (i == 0) continue;
    EXPECT_LE(losses[order[i - 1]], losses[order[i]] * (1 + 1.0F / 16384)) << i;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 1000);
}

TEST(Selection, KeepsByRankToAPower) {
  config::RunConfig c;
  const auto losses = some_losses(40);
  const auto order = by_loss(losses);
  constexpr int kDraws = 4000;
  for (const double power : {0.5, 1.0, 2.5}) {
    c.stored_loss_power = power;
    const Often often = over_draws(c, {stored_loss_rule}, losses, kDraws);
    for (size_t place = 0; place < order.size(); ++place) {
      const double p = std::pow(static_cast<double>(place + 1) / 40.0, power);
      // Four standard deviations of a share of 4000 draws; of 120 such tests 0.008 fail by chance.
      EXPECT_NEAR(often.kept[order[place]], p, 4 * std::sqrt(p * (1 - p) / kDraws) + 1e-12)
          << power << " rank " << place + 1;
      EXPECT_NEAR(often.kept[order[place]], often.weight[order[place]], 1e-9) << "rescaled";
    }
  }
}

TEST(Selection, InfoBatchLeavesTheExpectedGradientAlone) {
  config::RunConfig c;
  const auto losses = some_losses(50);
  const double mean = std::accumulate(losses.begin(), losses.end(), 0.0) / 50;
  constexpr int kDraws = 4000;
  for (const double prune : {0.25, 0.5, 0.8}) {
    c.infobatch_prune = prune;
    const Often often = over_draws(c, {infobatch_rule}, losses, kDraws);
    // The weight of one below the mean is 1/(1-r) with probability 1-r: variance r/(1-r).
    const double tolerance = 4 * std::sqrt(prune / (1 - prune) / kDraws);
    for (size_t k = 0; k < losses.size(); ++k) {
      if (losses[k] < mean) {
        EXPECT_NEAR(often.weight[k], 1, tolerance);
        EXPECT_LT(often.kept[k], 0.9);
      } else {
        EXPECT_NEAR(often.kept[k], 1, 1e-9);
        EXPECT_NEAR(often.weight[k], 1, 1e-9);
      }
    }
  }
}

TEST(Selection, FirstAndLastEpochsAndUnseenExamplesAreWhole) {
  config::RunConfig c;
  c.select_anneal = 0.125;
  auto losses = some_losses(200);
  losses[7] = std::numeric_limits<float>::infinity();  // not seen yet
  for (const auto& rule : {stored_loss_rule, infobatch_rule}) {
    std::vector<int64_t> whole;
    for (int64_t epoch = 0; epoch < 16; ++epoch) {
      const auto weights = rule(c, {losses, selection_draws(1, epoch, 200), epoch, 16});
      if (std::count(weights.begin(), weights.end(), 1.0F) == 200) whole.push_back(epoch);
      EXPECT_EQ(weights[7], 1) << epoch;
    }
    EXPECT_EQ(whole, (std::vector<int64_t>{0, 14, 15}));
  }
}

TEST(Selection, DrawsDependOnSeedAndEpochAlone) {
  EXPECT_EQ(selection_draws(1, 2, 10), selection_draws(1, 2, 10));
  EXPECT_NE(selection_draws(1, 2, 10), selection_draws(1, 3, 10));
  EXPECT_NE(selection_draws(1, 2, 10), selection_draws(2, 2, 10));
}

}  // namespace
}  // namespace adagp::plan

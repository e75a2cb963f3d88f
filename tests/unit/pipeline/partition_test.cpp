// Is the cut the best one? Against all cuts there are.

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/sim/pipeline/partition.h"

namespace adagp::pipeline {
namespace {

// The smallest largest cost over every cut, or -1 when none keeps the limit.
double brute_force(const std::vector<Item>& items, size_t begin, int stages, double limit) {
  double cost = 0, bytes = 0, best = -1;
  for (size_t end = begin; end < items.size(); ++end) {
    cost += items[end].cost;
    bytes += items[end].bytes;
    if (limit > 0 && bytes > limit) break;
    double rest = end + 1 == items.size() && stages == 1 ? 0 : -1;
    if (stages > 1) rest = brute_force(items, end + 1, stages - 1, limit);
    if (rest < 0) continue;
    const double largest = std::max(cost, rest);
    if (best < 0 || largest < best) best = largest;
  }
  return best;
}

TEST(PipelinePartition, AsGoodAsTheBestOfAllCuts) {
  std::mt19937 random(7);
  int impossible = 0, possible = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<Item> items(1 + random() % 11);
    for (Item& item : items) {
      item.cost = random() % 10;  // with zeros and ties
      item.bytes = random() % 10;
    }
    const int stages = static_cast<int>(1 + random() % items.size());
    const double limit = random() % 3 == 0 ? 0 : 5 + random() % 30;
    const double best = brute_force(items, 0, stages, limit);
    if (best < 0) {
      EXPECT_THROW(partition(items, stages, limit), UsageError);
      ++impossible;
      continue;
    }
    ++possible;
    const Partition cut = partition(items, stages, limit);
    EXPECT_EQ(cut.largest, best);
    ASSERT_EQ(cut.first.size(), static_cast<size_t>(stages));
    EXPECT_EQ(cut.first[0], 0U);
    for (size_t s = 0; s < cut.first.size(); ++s) {
      const size_t end = s + 1 < cut.first.size() ? cut.first[s + 1] : items.size();
      ASSERT_LT(cut.first[s], end);
      double cost = 0, bytes = 0;
      for (size_t i = cut.first[s]; i < end; ++i) {
        cost += items[i].cost;
        bytes += items[i].bytes;
      }
      EXPECT_EQ(cost, cut.cost[s]);
      EXPECT_LE(cost, cut.largest);
      EXPECT_TRUE(limit == 0 || bytes <= limit);
    }
  }
  EXPECT_GT(impossible, 100);
  EXPECT_GT(possible, 500);
}

// Filling stages up to the mean, one after the other, gives 9 here.
TEST(PipelinePartition, BetterThanGreedy) {
  const std::vector<Item> items = {{"a", 5}, {"b", 3}, {"c", 3}, {"d", 4}};
  EXPECT_EQ(partition(items, 2).largest, 8);
}

// Of equally good cuts: the shortest last stage, then the best of what is left.
TEST(PipelinePartition, WhichOfEqualCuts) {
  const std::vector<Item> ten(10, Item{"", 0.1});
  EXPECT_EQ(partition(ten, 4).first, (std::vector<size_t>{0, 3, 6, 9}));
  const std::vector<Item> last = {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 4}};
  EXPECT_EQ(partition(last, 3).first, (std::vector<size_t>{0, 2, 4}));
}

// Looking at every pair of a million layers would take as long as all other tests together.
TEST(PipelinePartition, AMillionLayers) {
  std::vector<Item> items(1'000'000);
  std::mt19937 random(7);
  double total = 0, largest = 0;
  for (Item& item : items) {
    item.cost = random() % 1000;
    total += item.cost;
    largest = std::max(largest, item.cost);
  }
  for (const int stages : {1, 4, 16}) {
    const Partition cut = partition(items, stages);
    ASSERT_EQ(cut.first.size(), static_cast<size_t>(stages));
    // No stage can be below the mean, and none need be above it by more than a layer.
    EXPECT_GE(cut.largest, total / stages);
    EXPECT_LE(cut.largest, total / stages + largest);
  }
}

TEST(PipelinePartition, ErrorsCarryTheNumbers) {
  const std::vector<Item> items = {{"conv", 1, 100}, {"fc", 1, 2000}};
  const auto message = [&](int stages, double limit) -> std::string {
    try {
      partition(items, stages, limit);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message(3, 0).find("2 layers for 3 stages"), std::string::npos) << message(3, 0);
  EXPECT_NE(message(2, 1024).find("'fc' alone needs"), std::string::npos) << message(2, 1024);
  EXPECT_NE(message(1, 2048).find("2 layers into 1 stages"), std::string::npos) << message(1, 2048);
}

}  // namespace
}  // namespace adagp::pipeline

#include "adagp/engine/metrics/meters.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"

namespace adagp::metrics {
namespace {

// Logits of one example whose classes come in the order given, best first.
at::Tensor ranking(const std::vector<int64_t>& order) {
  at::Tensor row = at::zeros({1, static_cast<int64_t>(order.size())});
  for (size_t i = 0; i < order.size(); ++i) row[0][order[i]] = -static_cast<float>(i);
  return row;
}

TEST(TopK, CountsFirstAndFirstFive) {
  const at::Tensor one = ranking({3, 0, 6, 2, 1, 5, 4});
  TopK meter;
  EXPECT_TRUE(std::isnan(meter.value().top1));
  // Ranks of the labels 3, 1, 5: first, fifth, sixth.
  meter.add(at::cat({one, one}), at::tensor({3, 1}, at::kLong));
  meter.add(one, at::tensor({5}, at::kLong));
  EXPECT_DOUBLE_EQ(meter.value().top1, 100.0 / 3);
  EXPECT_DOUBLE_EQ(meter.value().top5, 200.0 / 3);
  EXPECT_EQ(meter.count(), 3);
  meter.reset();
  EXPECT_EQ(meter.count(), 0);
}

TEST(TopK, AgreesWithSortingByHand) {
  at::manual_seed(3);
  const at::Tensor logits = at::randn({64, 10}), labels = at::randint(10, {64}, at::kLong);
  TopK meter;
  for (int64_t i = 0; i < 64; i += 16)
    meter.add(logits.slice(0, i, i + 16), labels.slice(0, i, i + 16));
  int first = 0, five = 0;
  for (int64_t i = 0; i < 64; ++i) {
    int above = 0;
    const float own = logits[i][labels[i].item<int64_t>()].item<float>();
    for (int64_t c = 0; c < 10; ++c) above += logits[i][c].item<float>() > own;
    first += above < 1;
    five += above < 5;
  }
  EXPECT_DOUBLE_EQ(meter.value().top1, 100.0 * first / 64);
  EXPECT_DOUBLE_EQ(meter.value().top5, 100.0 * five / 64);
}

TEST(TopK, ANetworkThatAnswersAllAlikeIsNotRight) {
  // Constant or NaN logits must not count as hits by ties: at most one class in ten is right.
  for (const double value : {0.0, std::nan("")}) {
    TopK meter;
    meter.add(at::full({10, 10}, value), at::arange(10, at::kLong));
    EXPECT_LE(meter.value().top1, 10.0);
    EXPECT_LE(meter.value().top5, 50.0);
  }
}

TEST(TopK, FewerThanFiveClasses) {
  TopK meter;
  meter.add(ranking({1, 0}), at::tensor({0}, at::kLong));
  EXPECT_DOUBLE_EQ(meter.value().top1, 0);
  EXPECT_DOUBLE_EQ(meter.value().top5, 100);
}

TEST(TopK, ResumesInTheMiddle) {
  at::manual_seed(4);
  const at::Tensor a = at::randn({30, 10}), b = at::randn({20, 10});
  const at::Tensor x = at::randint(10, {30}, at::kLong), y = at::randint(10, {20}, at::kLong);
  TopK whole, before, after;
  whole.add(a, x);
  whole.add(b, y);
  before.add(a, x);
  after.add(b, y);  // is forgotten
  after.load_state(before.state());
  after.add(b, y);
  EXPECT_EQ(after.state(), whole.state());
  EXPECT_DOUBLE_EQ(after.value().top1, whole.value().top1);
  EXPECT_THROW(after.load_state({1, 2}), DataError);
}

TEST(TopK, RefusesWrongShapes) {
  TopK meter;
  EXPECT_THROW(meter.add(at::zeros({3, 2}), at::zeros({2}, at::kLong)), Error);
  EXPECT_THROW(meter.add(at::zeros({3}), at::zeros({3}, at::kLong)), Error);
}

TEST(Mean, WeighsScalarsOfTensorsAndNumbers) {
  Mean meter;
  EXPECT_TRUE(std::isnan(meter.value()));
  meter.add(at::tensor(2.0f), 3);
  meter.add(5.0, 1);
  meter.add(at::tensor({1.0}).requires_grad_(), 4);  // shape [1], fp64, part of a graph
  EXPECT_DOUBLE_EQ(meter.value(), (2.0 * 3 + 5 + 4) / 8);
  EXPECT_EQ(meter.weight(), 8);
  EXPECT_THROW(meter.add(at::zeros({2})), Error);
}

TEST(Mean, SumsInDoublePrecision) {
  // 2^24 + 1 is no fp32 number: an fp32 sum would lose the ones.
  Mean meter;
  meter.add(at::tensor(16777216.0f));
  for (int i = 0; i < 10; ++i) meter.add(at::tensor(1.0f));
  EXPECT_EQ(meter.value() * 11, 16777226.0);
}

TEST(Mean, ResumesInTheMiddle) {
  Mean whole, before, after;
  whole.add(at::tensor(0.25f), 2);
  before.add(at::tensor(0.25f), 2);
  after.load_state(before.state());
  for (Mean* meter : {&whole, &after}) meter->add(at::tensor(0.75f), 6);
  EXPECT_EQ(after.value(), whole.value());
  EXPECT_EQ(after.value(), 0.625);
  EXPECT_THROW(after.load_state({}), DataError);
}

}  // namespace
}  // namespace adagp::metrics

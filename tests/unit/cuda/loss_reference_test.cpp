#include <cmath>
#include <limits>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/gpu/cuda/loss.h"

namespace adagp::cuda {
namespace {

struct Result {
  float loss = 0;
  at::Tensor gradient;
  std::vector<double> meters = std::vector<double>(4);
};

Result by_reference(const at::Tensor& logits, const at::Tensor& labels, double smoothing) {
  Result out;
  out.gradient = at::full_like(logits, 77.0);  // every element must be written
  LossArgs args;
  args.logits = logits.const_data_ptr();
  args.type = logits.scalar_type() == at::kFloat ? Type::kFloat : Type::kBFloat16;
  args.labels = labels.const_data_ptr<int64_t>();
  args.batch = logits.size(0);
  args.classes = logits.size(1);
  args.smoothing = static_cast<float>(smoothing);
  args.gradient = out.gradient.mutable_data_ptr();
  args.loss = &out.loss;
  args.meters = out.meters.data();
  reference::softmax_loss(args);
  return out;
}

void expect_like_torch(int64_t batch, int64_t classes, at::ScalarType type, double smoothing) {
  SCOPED_TRACE(testing::Message() << batch << " x " << classes << ", smoothing " << smoothing
                                  << ", " << c10::toString(type));
  const at::Tensor logits = at::randn({batch, classes}).mul(3).to(type);
  const at::Tensor labels = at::randint(classes, {batch}, at::kLong);
  const Result got = by_reference(logits, labels, smoothing);

  const at::Tensor x = logits.to(at::kDouble).requires_grad_(true);
  // The smoothing is a float in the interface.
  const at::Tensor loss = at::cross_entropy_loss(x, labels, {}, at::Reduction::Mean, -100,
                                                 static_cast<float>(smoothing));
  loss.backward();
  // The reference computes in double: what is left is the rounding of its results.
  EXPECT_NEAR(got.loss, loss.item<double>(), 1e-6 * std::max(1.0, loss.item<double>()));
  EXPECT_NEAR(got.meters[0], loss.item<double>() * static_cast<double>(batch),
              1e-9 * static_cast<double>(batch));
  const at::Tensor error = (got.gradient.to(at::kDouble) - x.grad()).abs();
  const double relative = type == at::kFloat ? 1e-7 : 1.0 / 256;
  EXPECT_TRUE(error.le(x.grad().abs().mul(relative).add(1e-12)).all().item<bool>())
      << error.max().item<double>();
}

TEST(LossReference, LossAndGradientAreTorchs) {
  at::manual_seed(1);
  for (const int64_t classes : {1, 2, 10, 1000}) {
    for (const int64_t batch : {1, 7, 64}) {
      for (const double smoothing : {0.0, 0.1}) {
        expect_like_torch(batch, classes, at::kFloat, smoothing);
        expect_like_torch(batch, classes, at::kBFloat16, smoothing);
      }
    }
  }
}

TEST(LossReference, HitsAreThoseOfTopk) {
  at::manual_seed(2);
  for (const int64_t classes : {1, 2, 5, 6, 10, 100}) {
    // A permutation per row: no ties, whose order topk leaves open.
    const at::Tensor logits = at::rand({200, classes}).argsort(1, false).to(at::kFloat);
    const at::Tensor labels = at::randint(classes, {200}, at::kLong);
    const Result got = by_reference(logits, labels, 0);
    const auto hits = [&](int64_t k) {
      const at::Tensor best = std::get<1>(logits.topk(std::min(k, classes), 1));
      return best.eq(labels.unsqueeze(1)).sum().item<double>();
    };
    EXPECT_EQ(got.meters[1], hits(1)) << classes;
    EXPECT_EQ(got.meters[2], hits(5)) << classes;
    EXPECT_EQ(got.meters[3], 200);
  }
}

TEST(LossReference, TiesGoToTheSmallerIndex) {
  const at::Tensor logits = at::zeros({3, 10});
  const Result got = by_reference(logits, at::tensor({0, 4, 5}, at::kLong), 0);
  EXPECT_EQ(got.meters[1], 1);  // 0
  EXPECT_EQ(got.meters[2], 2);  // 0 and 4
}

TEST(LossReference, MetersAreAddedTo) {
  const at::Tensor logits = at::tensor({2.0F, 0.0F}).reshape({1, 2}),
                   labels = at::zeros(1, at::kLong);
  float loss = 0;
  double meters[4] = {10, 20, 30, 40};
  LossArgs args;
  args.logits = logits.const_data_ptr();
  args.labels = labels.const_data_ptr<int64_t>();
  args.batch = 1;
  args.classes = 2;
  args.loss = &loss;
  args.meters = meters;
  reference::softmax_loss(args);  // and without a gradient
  EXPECT_NEAR(meters[0], 10 + std::log1p(std::exp(-2.0)), 1e-12);
  EXPECT_EQ(meters[1], 21);
  EXPECT_EQ(meters[2], 31);
  EXPECT_EQ(meters[3], 41);
  args.meters = nullptr;
  reference::softmax_loss(args);
  EXPECT_EQ(meters[3], 41);
}

TEST(LossReference, KeepsTheUnsmoothedLossesOfExamples) {
  at::manual_seed(3);
  const at::Tensor logits = at::randn({3, 4}).mul(3), labels = at::tensor({0, 3, 1}, at::kLong);
  const std::vector<int64_t> rows{4, 0, 2};
  std::vector<float> table(5, -7);
  float loss = 0;
  LossArgs args;
  args.logits = logits.const_data_ptr();
  args.labels = labels.const_data_ptr<int64_t>();
  args.batch = 3;
  args.classes = 4;
  args.smoothing = 0.2F;
  args.loss = &loss;
  args.table = table.data();
  args.rows = rows.data();
  reference::softmax_loss(args);
  const at::Tensor each =
      at::cross_entropy_loss(logits.to(at::kDouble), labels, {}, at::Reduction::None);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(table[static_cast<size_t>(rows[i])], each[static_cast<int64_t>(i)].item<double>(),
                1e-6);
  }
  EXPECT_EQ(table[1], -7);
  EXPECT_EQ(table[3], -7);
}

TEST(LossReference, NanLogitsGiveANanLossAndNoHit) {
  at::Tensor logits = at::zeros({2, 3});
  logits[0][2] = std::numeric_limits<float>::quiet_NaN();
  const Result got = by_reference(logits, at::zeros(2, at::kLong), 0);
  EXPECT_TRUE(std::isnan(got.loss));
  EXPECT_TRUE(got.gradient[0].isnan().all().item<bool>());
  EXPECT_FALSE(got.gradient[1].isnan().any().item<bool>());
  EXPECT_EQ(got.meters[1], 1);
  EXPECT_EQ(got.meters[2], 1);
}

TEST(LossReference, LargeLogitsDoNotOverflow) {
  const float inf = std::numeric_limits<float>::infinity();
  const at::Tensor logits = at::tensor({1e30F, -1e30F, 0.0F, 5.0F, -inf, 5.0F}).reshape({2, 3});
  const Result got = by_reference(logits, at::zeros(2, at::kLong), 0);
  EXPECT_NEAR(got.meters[0], std::log(2.0), 1e-12);  // 0, and one of two equal
}

TEST(LossReference, ALabelOutOfRangeGivesANanLoss) {
  for (const int64_t label : {-1, 3}) {
    const Result got = by_reference(at::zeros({1, 3}), at::full({1}, label, at::kLong), 0.1);
    EXPECT_TRUE(std::isnan(got.loss)) << label;
    EXPECT_EQ(got.meters[2], 0) << label;
  }
}

}  // namespace
}  // namespace adagp::cuda

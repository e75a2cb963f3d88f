#include "adagp/engine/nn/ops.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/utils.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/nn/conv_norm.h"

namespace adagp::nn {
namespace {

TEST(BatchNorm, MatchesLibTorchInOutputGradientAndStatistics) {
  torch::manual_seed(3);
  BatchNorm2d ours(4);
  torch::nn::BatchNorm2d theirs(4);
  const auto scale = torch::rand({4}), shift = torch::randn({4});
  {
    torch::NoGradGuard no_grad;
    ours->weight.copy_(scale), theirs->weight.copy_(scale);
    ours->bias.copy_(shift), theirs->bias.copy_(shift);
  }
  for (int step = 0; step < 3; ++step) {
    const auto x = torch::randn({5, 4, 3, 2}) * 2 + 1;
    const auto a = x.clone().requires_grad_(), b = x.clone().requires_grad_();
    const auto y = ours(a), z = theirs(b);
    ASSERT_TRUE(at::equal(y, z));
    (y * y * y).sum().backward();
    (z * z * z).sum().backward();
    ASSERT_TRUE(at::equal(a.grad(), b.grad()));
  }
  const auto their_buffers = theirs->named_buffers();
  for (const auto& buffer : ours->named_buffers()) {
    EXPECT_TRUE(at::equal(buffer.value(), their_buffers[buffer.key()])) << buffer.key();
  }
  EXPECT_EQ(ours->named_parameters().keys(), theirs->named_parameters().keys());
  ours->eval(), theirs->eval();
  const auto x = torch::randn({2, 4, 3, 3});
  EXPECT_TRUE(at::equal(ours(x), theirs(x)));
}

TEST(BatchNorm, StatisticsMoveWithoutAutogradButNotOnMetaTensors) {
  BatchNorm2d norm(2);
  norm(torch::zeros({1, 2, 4, 4}, at::kMeta));
  EXPECT_EQ(norm->num_batches_tracked.item<int64_t>(), 0);
  torch::NoGradGuard no_grad;
  norm(torch::ones({1, 2, 4, 4}));
  EXPECT_EQ(norm->num_batches_tracked.item<int64_t>(), 1);
  EXPECT_NEAR(norm->running_mean[0].item<double>(), 0.1, 1e-7);  // momentum 0.1, fp32
}

// Every op on a meta tensor has the shape it has on a real one.
TEST(Ops, ShapesOnMetaEqualReal) {
  for (const int64_t size : {4, 7, 9}) {
    const auto x = torch::randn({2, 3, size, size + 1});
    const auto m = x.to(at::kMeta);
    for (const Pool2d& pool : {Pool2d{2, 2}, Pool2d{3, 2, 1}, Pool2d{3, 1}, Pool2d{4, 3, 2}}) {
      EXPECT_EQ(nn::max_pool2d(m, pool).sizes(), nn::max_pool2d(x, pool).sizes());
      EXPECT_EQ(nn::avg_pool2d(m, pool).sizes(), nn::avg_pool2d(x, pool).sizes());
    }
    EXPECT_EQ(nn::concat({m, m}).sizes(), nn::concat({x, x}).sizes());
    EXPECT_EQ(nn::relu6_(m).sizes(), x.sizes());
    EXPECT_EQ(nn::adaptive_avg_pool2d(m, 2).sizes(), nn::adaptive_avg_pool2d(x, 2).sizes());
    EXPECT_EQ(nn::flatten(m).sizes(), nn::flatten(x).sizes());
    EXPECT_EQ(nn::relu_(m).sizes(), x.sizes());
    EXPECT_EQ(nn::add_(m, m).sizes(), x.sizes());
    EXPECT_EQ(nn::dropout(m, 0.5, true).sizes(), x.sizes());
  }
}

// By hand: a 2x2 image of 4, 8, 12, 16 under 3x3 windows that see all of it.
TEST(Ops, AveragesCountThePaddingOrDoNot) {
  const auto x = torch::tensor({4.0, 8.0, 12.0, 16.0}).view({1, 1, 2, 2});
  Pool2d pool{3, 1, 1};
  EXPECT_TRUE(at::allclose(nn::avg_pool2d(x, pool), at::full_like(x, 40.0 / 9)));
  pool.count_padding = false;
  EXPECT_TRUE(at::allclose(nn::avg_pool2d(x, pool), at::full_like(x, 10.0)));
}

TEST(Ops, Relu6CutsOffBothEndsAndTheGradientThere) {
  const auto x = torch::tensor({-1.0, 0.5, 5.5, 7.0}).requires_grad_();
  nn::relu6_(x * 1).sum().backward();
  EXPECT_TRUE(at::equal(nn::relu6_(x.detach().clone()), torch::tensor({0.0, 0.5, 5.5, 6.0})));
  EXPECT_TRUE(at::equal(x.grad(), torch::tensor({0.0, 1.0, 1.0, 0.0})));
}

// norm -> ReLU leaves its input for others: a dense layer reads it again.
TEST(Ops, NormReluIsNormThenReluAndKeepsItsInput) {
  torch::manual_seed(9);
  BatchNorm2d norm(4, 1e-3), reference(4, 1e-3);
  const auto x = torch::randn({3, 4, 5, 5}), copy = x.clone();
  for (const bool training : {true, false}) {
    norm->train(training), reference->train(training);
    EXPECT_TRUE(at::equal(nn::norm_relu(*norm, x), at::relu(reference(x))));
    EXPECT_TRUE(at::equal(x, copy));
  }
  EXPECT_TRUE(at::equal(norm->running_var, reference->running_var));
}

TEST(Ops, AdaptivePoolThatKeepsTheSizeChangesNothing) {
  const auto x = torch::randn({2, 3, 7, 7});
  EXPECT_TRUE(at::equal(nn::adaptive_avg_pool2d(x, 7), at::adaptive_avg_pool2d(x, {7, 7})));
  EXPECT_TRUE(at::equal(nn::adaptive_avg_pool2d(x, 1), at::adaptive_avg_pool2d(x, {1, 1})));
}

// In-place steps must not disturb what the backward pass of the layer before them needs.
TEST(Ops, InPlaceStepsGiveTheGradientsOfOutOfPlaceOnes) {
  torch::manual_seed(5);
  Conv2d layer(conv(2, 2, 3, 1, 1));
  BatchNorm2d norm(2);
  const auto x = torch::randn({3, 2, 5, 5});
  const auto a = nn::relu_(nn::add_(norm(nn::relu_(layer(x))), x));
  a.square().sum().backward();
  const auto in_place = layer->weight.grad().clone();
  layer->weight.mutable_grad().zero_();
  const auto b = at::relu(at::add(norm(at::relu(layer(x))), x));
  b.square().sum().backward();
  EXPECT_TRUE(at::equal(a, b));
  EXPECT_TRUE(at::equal(in_place, layer->weight.grad()));
}

TEST(Ops, DropoutActsInTrainingOnly) {
  torch::manual_seed(0);
  const auto x = torch::ones({1000});
  EXPECT_TRUE(at::equal(nn::dropout(x, 0.5, false), x));
  const auto y = nn::dropout(x, 0.5, true);
  EXPECT_TRUE(at::equal(y * (y - 2), torch::zeros({1000})));  // each is 0 or 1/(1-p)
  // 500 +- 5 standard deviations of a binomial(1000, 1/2), sd 15.8.
  EXPECT_NEAR(y.count_nonzero().item<double>(), 500, 80);
}

TEST(Ops, ErrorsNameThePool) {
  for (const auto device : {at::kCPU, at::kMeta}) {
    try {
      nn::max_pool2d(torch::zeros({1, 3, 1, 8}, device), {2, 2, 0, "features.9"});
      FAIL() << "no error";
    } catch (const UsageError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("features.9"), std::string::npos) << text;
      EXPECT_NE(text.find("1x8"), std::string::npos) << text;
    }
  }
  EXPECT_THROW(nn::concat({torch::zeros({1, 2, 3, 3}), torch::zeros({1, 2, 4, 3})}), UsageError);
  EXPECT_THROW(nn::concat({}), UsageError);
  EXPECT_THROW(nn::add_(torch::zeros({2}), torch::zeros({3})), UsageError);
  EXPECT_THROW(BatchNorm2d(3)->forward(torch::zeros({1, 2, 4, 4})), UsageError);
}

}  // namespace
}  // namespace adagp::nn

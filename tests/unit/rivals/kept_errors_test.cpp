// Are the right values wrong, in one bit, and only where they are kept?

#include "adagp/rivals/nn/kept_errors.h"

#include <bit>
#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/engine/nn/reversible.h"
#include "unit/with_rivals.h"

namespace adagp::nn {
namespace {

TEST(KeptErrors, FlipOneBitOfTheMantissaOfTheAskedShare) {
  at::manual_seed(1);
  constexpr int64_t kCount = 200000;
  constexpr double kShare = 0.01;
  const at::Tensor x = at::randn({kCount});
  KeptErrors errors(kShare, 3, at::kCPU);
  const at::Tensor y = errors.keep(x);
  const auto* before = reinterpret_cast<const uint32_t*>(x.const_data_ptr<float>());
  const auto* after = reinterpret_cast<const uint32_t*>(y.const_data_ptr<float>());
  std::vector<int> seen(32);
  int64_t wrong = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const uint32_t changed = before[i] ^ after[i];
    if (changed == 0) continue;
    ++wrong;
    ASSERT_EQ(std::popcount(changed), 1);
    ++seen[static_cast<size_t>(std::countr_zero(changed))];
  }
  const double spread = std::sqrt(kCount * kShare * (1 - kShare));
  EXPECT_NEAR(static_cast<double>(wrong), kCount * kShare, 5 * spread);
  for (size_t bit = 0; bit < seen.size(); ++bit) {
    const double expected = bit < 23 ? static_cast<double>(wrong) / 23 : 0;
    EXPECT_NEAR(seen[bit], expected, 5 * std::sqrt(expected)) << bit;
  }
}

TEST(KeptErrors, AreTheSameForTheSameSeedAndStep) {
  const at::Tensor x = at::ones({5000});
  const auto draw = [&](int64_t seed, int64_t step, int calls) {
    KeptErrors errors(0.1, seed, at::kCPU);
    errors.begin_step(step);
    at::Tensor y;
    for (int i = 0; i < calls; ++i) y = errors.keep(x);
    return y;
  };
  const at::Tensor first = draw(1, 2, 1);
  EXPECT_TRUE(at::equal(first, draw(1, 2, 1)));
  EXPECT_FALSE(at::equal(first, draw(2, 2, 1)));
  EXPECT_FALSE(at::equal(first, draw(1, 3, 1)));
  EXPECT_FALSE(at::equal(first, draw(1, 2, 2)));
}

TEST(KeptErrors, KeepTheMemoryOrderOfMaps) {
  const at::Tensor x = at::rand({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  KeptErrors errors(0.3, 1, at::kCPU);
  const at::Tensor y = errors.keep(x);
  EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_EQ(y.strides(), x.strides());
  // Far from their own values none is: one bit of the mantissa is at most half of a number.
  EXPECT_LE(((y - x).abs() / x).max().item<double>(), 0.5);
  EXPECT_GT(y.ne(x).sum().item<int64_t>(), 0);
}

struct PassOfLayer {
  at::Tensor output, of_input, of_weight, of_bias;
};

template <class Layer>
PassOfLayer pass_of(Layer& layer, const at::Tensor& given, KeptErrors* errors) {
  const at::Tensor x = given.detach().clone().requires_grad_();
  at::Tensor y;
  {
    const KeptValuesScope scope(errors);
    y = layer->forward(x);
  }
  y.square().sum().backward();
  PassOfLayer out{y.detach(), x.grad(), layer->weight.grad().clone(), layer->bias.grad().clone()};
  layer->zero_grad();
  return out;
}

// Only the weight gradient knows of them, and it is the one of the input with errors.
template <class Layer>
void expect_errors_in_the_weight_gradient_alone(Layer layer, const at::Tensor& x) {
  KeptErrors errors(0.2, 5, at::kCPU);
  const at::Tensor wrong = errors.keep(x);
  layer->rule = rule_of_kept_values();
  errors.begin_step(0);
  const PassOfLayer plain = pass_of(layer, x, nullptr), got = pass_of(layer, x, &errors);
  EXPECT_TRUE(at::equal(got.output, plain.output));
  EXPECT_TRUE(at::allclose(got.of_input, plain.of_input, 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(got.of_bias, plain.of_bias, 1e-12, 1e-12));
  EXPECT_FALSE(at::allclose(got.of_weight, plain.of_weight, 1e-6, 1e-6));
  // By autograd, from the input with errors and the true gradient of the output.
  const at::Tensor y = layer->forward(wrong);
  torch::autograd::backward({y}, {2 * plain.output});
  EXPECT_TRUE(at::allclose(got.of_weight, layer->weight.grad(), 1e-12, 1e-12));
}

TEST(KeptErrors, OnlyWeightGradientsAreWrong) {
  at::manual_seed(2);
  Conv2d convolution(conv(4, 6, 3, 2, 1));
  convolution->to(at::kDouble);
  expect_errors_in_the_weight_gradient_alone(convolution, at::randn({3, 4, 9, 9}, at::kDouble));
  Linear linear(7, 5);
  linear->to(at::kDouble);
  expect_errors_in_the_weight_gradient_alone(linear, at::randn({3, 2, 7}, at::kDouble));
}

TEST(KeptErrors, AStackOfReversibleBlocksKeepsItsOutputsWithErrors) {
  at::manual_seed(3);
  Linear f(6, 6), g(6, 6);
  f->to(at::kDouble);
  g->to(at::kDouble);
  auto blocks = std::make_shared<std::vector<ReversibleBlock>>();
  for (int i = 0; i < 3; ++i) {
    blocks->push_back({[f](const at::Tensor& x) mutable { return f->forward(x); },
                       [g](const at::Tensor& x) mutable { return g->forward(x); }});
  }
  const auto gradient = [&](KeptErrors* errors) {
    at::manual_seed(4);
    const Halves x{at::randn({8, 6}, at::kDouble), at::randn({8, 6}, at::kDouble)};
    Halves y;
    {
      const KeptValuesScope scope(errors);
      y = reversible(blocks, x);
    }
    (y.first + y.second).square().sum().backward();
    const at::Tensor out = f->weight.grad().clone();
    f->zero_grad();
    g->zero_grad();
    return std::pair{y.first.detach(), out};
  };
  KeptErrors errors(0.3, 5, at::kCPU);
  const auto plain = gradient(nullptr), got = gradient(&errors);
  EXPECT_TRUE(at::equal(got.first, plain.first));
  EXPECT_FALSE(at::allclose(got.second, plain.second, 1e-6, 1e-6));
  EXPECT_TRUE(at::isfinite(got.second).all().item<bool>());
}

}  // namespace
}  // namespace adagp::nn

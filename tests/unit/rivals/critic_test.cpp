// A critic whose gradient stands in for the true one.

#include "adagp/rivals/method/critic.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "unit/rivals/halves.h"
#include "unit/with_rivals.h"

namespace adagp::method {
namespace {

using small::Values;

struct Linear {
  explicit Linear(int64_t seed) {
    at::manual_seed(static_cast<uint64_t>(seed));
    const auto options = at::TensorOptions(at::kDouble);
    weight = at::randn({3, 4}, options).requires_grad_();
    h = at::randn({5, 4}, options);
    labels = at::randint(3, {5}, at::kLong);
    true_losses = at::rand({5}, options);
    true_gradient = at::randn({5, 4}, options);
  }
  Verdict verdict(bool graph = true) const {
    return judge([this](const at::Tensor& x) { return at::matmul(x, weight.t()); }, h, labels,
                 graph);
  }
  at::Tensor weight, h, labels, true_losses, true_gradient;
};

TEST(Critic, TheGradientIsThatOfItsMeanLoss) {
  const Linear critic(1);
  const Verdict found = critic.verdict(false);
  const at::NoGradGuard no_grad;
  const at::Tensor scores = at::matmul(critic.h, critic.weight.t());
  const at::Tensor error = at::softmax(scores, 1) - at::one_hot(critic.labels, 3);
  EXPECT_TRUE(at::allclose(found.gradient, at::matmul(error, critic.weight) / 5));
  EXPECT_TRUE(at::allclose(
      found.losses, -at::log_softmax(scores, 1).gather(1, critic.labels.unsqueeze(1)).squeeze(1)));
}

TEST(Critic, WhatItMinimisesIsTheSumByHand) {
  const Linear critic(2);
  const Verdict v = critic.verdict();
  const auto loss = [&](const std::string& match) {
    return critic_loss(v, critic.true_losses, critic.true_gradient, match).item<double>();
  };
  const double missed = (v.gradient - critic.true_gradient).norm().item<double>(),
               whole = critic.true_gradient.norm().item<double>();
  const double share = missed * missed / (whole * whole);
  EXPECT_NEAR(loss("value"), v.losses.mean().item<double>(), 1e-12);
  EXPECT_NEAR(loss("gradient"), share, 1e-12);
  EXPECT_NEAR(loss("both"), share + (v.losses - critic.true_losses).square().mean().item<double>(),
              1e-12);
}

// The gradient of a gradient, against differences of the loss.
TEST(Critic, LearnsAlongTheSlopeOfItsLoss) {
  for (const std::string match : {"value", "gradient", "both"}) {
    Linear critic(3);
    const auto loss = [&] {
      return critic_loss(critic.verdict(), critic.true_losses, critic.true_gradient, match);
    };
    const at::Tensor found = torch::autograd::grad({loss()}, {critic.weight})[0];
    for (int64_t i = 0; i < critic.weight.numel(); ++i) {
      constexpr double kStep = 1e-5;
      double values[2];
      for (const int side : {0, 1}) {
        {
          const at::NoGradGuard no_grad;
          critic.weight.view({-1})[i] += side == 0 ? kStep : -2 * kStep;
        }
        values[side] = loss().item<double>();
      }
      const at::NoGradGuard no_grad;
      critic.weight.view({-1})[i] += kStep;
      EXPECT_NEAR(found.view({-1})[i].item<double>(), (values[0] - values[1]) / (2 * kStep), 1e-7)
          << match << ", weight " << i;
    }
  }
}

Values after_one_step(const config::RunConfig& c, Values* heads) {
  step::Session s = small::session(c);
  const auto method = find_method("modules").make(s);
  method->full_step(s, small::batch(c));
  for (const auto& [name, tensor] : method->state()) (*heads)[name] = tensor.clone();
  return small::copy_of(*s.net);
}

// Before a critic has learnt anything it is the classifier of modules.signal = auxiliary. What it
// then learns depends on `match`.
TEST(Critic, ModulesGoBackwardFromItsGradient) {
  Values unused;
  const Values expected = after_one_step(small::plain_modules("auxiliary"), &unused);
  std::vector<at::Tensor> learnt;
  for (const std::string match : {"value", "gradient", "both"}) {
    config::RunConfig c = small::plain_modules("critic");
    c.parts.get<rivals::ModulesOptions>().match = match;
    Values heads;
    for (const auto& [name, tensor] : after_one_step(c, &heads)) {
      EXPECT_TRUE(at::allclose(tensor.to(at::kFloat), expected.at(name).to(at::kFloat), 1e-4, 1e-6))
          << match << ": " << name;
    }
    for (const at::Tensor& other : learnt) {
      EXPECT_FALSE(at::allclose(heads.at("head0.vectors.9.weight"), other)) << match;
    }
    learnt.push_back(heads.at("head0.vectors.9.weight"));
  }
}

TEST(Critic, ComesNearerToTheTrueGradient) {
  config::RunConfig c = small::plain_modules("critic");
  c.parts.get<rivals::ModulesOptions>().match = "gradient";
  c.optim.lr = 0.02;
  const auto steps = small::followed(c, 151);
  EXPECT_LT(steps.back().missed, 0.5 * steps.front().missed) << "of " << steps.front().missed;
  EXPECT_GT(steps.back().length, 0.01) << "a gradient of zero";
}

}  // namespace
}  // namespace adagp::method

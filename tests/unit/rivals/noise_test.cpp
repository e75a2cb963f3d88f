// Noise on the gradients: has it the variance of its law, and is it the same for all who need it?

#include <cmath>

#include <gtest/gtest.h>

#include "unit/method/matrices.h"
#include "unit/with_rivals.h"

namespace adagp::method {
namespace {

constexpr double kEta = 0.3;

at::Tensor flat_weights(const step::Session& s) {
  std::vector<at::Tensor> out;
  for (const at::Tensor& p : s.net->parameters()) out.push_back(p.detach().flatten());
  return at::cat(out);
}

// Steps of equal sessions, whose networks go back to their first weights after each step.
class NoisySteps {
 public:
  explicit NoisySteps(const std::string& method) : session_(make(method)) {
    for (const at::Tensor& p : session_.net->parameters()) start_.push_back(p.detach().clone());
    method_ = find_method(method).make(session_);
  }

  // The gradient that the next step took on this batch.
  at::Tensor next(const data::Batch& batch) {
    const at::Tensor before = flat_weights(session_);
    method_->full_step(session_, batch);
    const at::Tensor taken = (before - flat_weights(session_)) / session_.config.optim.lr;
    const at::NoGradGuard no_grad;
    const auto now = session_.net->parameters();
    for (size_t i = 0; i < now.size(); ++i) now[i].copy_(start_[i]);
    return taken;
  }
  Method& method() { return *method_; }

 private:
  static step::Session make(const std::string& method) {
    config::RunConfig c = small::config(method);
    c.optim.momentum = 0;
    c.optim.decay = 0;
    c.optim.lr = 0.5;
    c.parts.get<rivals::NoiseOptions>().eta = kEta;
    at::manual_seed(3);
    return small::matrices_session(c);
  }

  step::Session session_;
  std::vector<at::Tensor> start_;
  std::unique_ptr<Method> method_;
};

TEST(Noise, HasTheVarianceOfItsLaw) {
  NoisySteps noisy("noise"), exact("bp");
  const data::Batch batch = small::made_up_batches(1)[0];
  const at::Tensor gradient = exact.next(batch);
  std::vector<at::Tensor> noise;
  for (int t = 0; t < 100; ++t) noise.push_back(noisy.next(batch) - gradient);
  const auto n = static_cast<double>(gradient.numel());
  // Six standard errors of a mean, a variance and a correlation of n independent numbers.
  const double many = 6 / std::sqrt(n);
  for (const int t : {0, 1, 9, 99}) {
    const at::Tensor& found = noise[static_cast<size_t>(t)];
    const double variance = kEta / std::pow(1 + t, 0.55);
    EXPECT_NEAR(found.square().mean().item<double>() / variance, 1, many * std::sqrt(2)) << t;
    EXPECT_NEAR(found.mean().item<double>() / std::sqrt(variance), 0, many) << t;
  }
  const double product = (noise[0] * noise[1]).mean().item<double>();
  EXPECT_NEAR(product / (kEta / std::pow(2, 0.55 / 2)), 0, many) << "two steps' noise is alike";
}

// Copies of the network see other examples.
TEST(Noise, DependsOnTheStepAndNotOnTheGradient) {
  NoisySteps one("noise"), other("noise"), exact("bp");
  const auto batches = small::made_up_batches(2);
  for (int t = 0; t < 3; ++t) {
    const at::Tensor a = one.next(batches[0]) - exact.next(batches[0]);
    const at::Tensor b = other.next(batches[1]) - exact.next(batches[1]);
    EXPECT_GT(a.abs().max().item<double>(), 0.1);
    EXPECT_LT((a - b).abs().max().item<double>(), 1e-12) << t;  // roundings
  }
}

TEST(Noise, ContinuesFromACheckpoint) {
  NoisySteps whole("noise"), resumed("noise");
  const data::Batch batch = small::made_up_batches(1)[0];
  at::Tensor first;
  for (int t = 0; t < 4; ++t) {
    const at::Tensor taken = whole.next(batch);
    if (t == 0) first = taken;
  }
  resumed.method().load_state(whole.method().state());
  const at::Tensor expected = whole.next(batch);
  EXPECT_TRUE(at::equal(resumed.next(batch), expected));
  EXPECT_FALSE(at::equal(first, expected));
}

}  // namespace
}  // namespace adagp::method

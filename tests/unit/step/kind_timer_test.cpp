#include "adagp/experiment/kind_timer.h"

#include <functional>

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace adagp::experiment {
namespace {

using report::Kind;

double seconds_of(const KindSeconds& seconds, Kind kind) {
  return seconds[static_cast<size_t>(kind)];
}

TEST(KindTimer, SeesTheOperationsOfABackwardPass) {
  const at::Tensor x = at::randn({2, 3, 8, 8}), w = at::randn({4, 3, 3, 3}).requires_grad_();
  const at::Tensor y = at::max_pool2d(at::conv2d(x, w), {2, 2}), gradient = at::ones_like(y);
  const KindTimer timer;
  torch::autograd::backward({y}, {gradient});
  EXPECT_GT(seconds_of(timer.seconds(), Kind::kConvolution), 0);
  EXPECT_GT(seconds_of(timer.seconds(), Kind::kElementwise), 0);  // the pool's
  EXPECT_EQ(seconds_of(timer.seconds(), Kind::kNorm), 0);
}

void scoped(const char* name, const std::function<void()>& inside) {
  RECORD_USER_SCOPE(name);
  inside();
}

TEST(KindTimer, GivesWhatIsInsideAScopeToTheInnermostOne) {
  const at::Tensor a = at::randn({16, 16});
  const auto multiply = [&a] { at::mm(a, a); };
  const KindTimer timer;
  scoped("adagp::predict", [&] { scoped("adagp::update", multiply); });
  const double update = seconds_of(timer.seconds(), Kind::kOptimizer);
  EXPECT_GT(seconds_of(timer.seconds(), Kind::kPredictor), 0);
  EXPECT_GT(update, 0);
  // The update of the predictor itself is part of its training.
  scoped("adagp::learn", [&] { scoped("adagp::update", multiply); });
  EXPECT_EQ(seconds_of(timer.seconds(), Kind::kOptimizer), update);
  EXPECT_EQ(seconds_of(timer.seconds(), Kind::kLinear), 0);
  multiply();
  EXPECT_GT(seconds_of(timer.seconds(), Kind::kLinear), 0);
}

TEST(KindTimer, StopsWithItsScope) {
  { const KindTimer timer; }
  const at::Tensor a = at::randn({16, 16});
  at::mm(a, a);
  const KindTimer timer;
  EXPECT_EQ(seconds_of(timer.seconds(), Kind::kLinear), 0);
}

}  // namespace
}  // namespace adagp::experiment

#include "adagp/lab/experiment/kind_timer.h"

#include <chrono>
#include <functional>
#include <thread>

#include <ATen/ATen.h>
#include <ATen/ThreadLocalState.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace adagp::experiment {
namespace {

using report::Kind;

double seconds_of(const KindSeconds& seconds, Kind kind) {
  return seconds[static_cast<size_t>(kind)];
}

KindSeconds timed(const std::function<void()>& work) {
  KindTimer timer;
  timer.start();
  work();
  timer.stop();
  return timer.seconds();
}

TEST(KindTimer, SeesTheOperationsOfABackwardPass) {
  const at::Tensor x = at::randn({2, 3, 8, 8}), w = at::randn({4, 3, 3, 3}).requires_grad_();
  const at::Tensor y = at::max_pool2d(at::conv2d(x, w), {2, 2}), gradient = at::ones_like(y);
  const KindSeconds found = timed([&] { torch::autograd::backward({y}, {gradient}); });
  EXPECT_GT(seconds_of(found, Kind::kConvolution), 0);
  EXPECT_GT(seconds_of(found, Kind::kElementwise), 0);  // the pool's
  EXPECT_EQ(seconds_of(found, Kind::kNorm), 0);
}

void scoped(const char* name, const std::function<void()>& inside) {
  RECORD_USER_SCOPE(name);
  inside();
}

TEST(KindTimer, GivesWhatIsInsideAScopeToTheInnermostOne) {
  const at::Tensor a = at::randn({16, 16});
  const auto multiply = [&a] { at::mm(a, a); };
  const KindSeconds predicted =
      timed([&] { scoped("adagp::predict", [&] { scoped("adagp::update", multiply); }); });
  EXPECT_GT(seconds_of(predicted, Kind::kPredictor), 0);
  EXPECT_GT(seconds_of(predicted, Kind::kOptimizer), 0);
  EXPECT_EQ(seconds_of(predicted, Kind::kLinear), 0);
  // The update of the predictor itself is part of its training.
  const KindSeconds learnt =
      timed([&] { scoped("adagp::learn", [&] { scoped("adagp::update", multiply); }); });
  EXPECT_GT(seconds_of(learnt, Kind::kPredictor), 0);
  EXPECT_EQ(seconds_of(learnt, Kind::kOptimizer), 0);
  // What our own kernels do has no operation: their scopes say it.
  const KindSeconds own = timed([&] {
    scoped("adagp::norm", multiply);
    scoped("adagp::convolution", multiply);
  });
  EXPECT_GT(seconds_of(own, Kind::kNorm), 0);
  EXPECT_GT(seconds_of(own, Kind::kConvolution), 0);
  EXPECT_EQ(seconds_of(own, Kind::kLinear), 0);
  EXPECT_GT(seconds_of(timed(multiply), Kind::kLinear), 0);
}

TEST(KindTimer, TheKindsAreTheWholeTime) {
  const at::Tensor a = at::randn({64, 64});
  const auto begin = std::chrono::steady_clock::now();
  const KindSeconds found = timed([&] {
    for (int i = 0; i < 20; ++i) at::relu(at::mm(a, a));
  });
  const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - begin;
  double sum = 0;
  for (const double seconds : found) sum += seconds;
  EXPECT_GT(sum, seconds_of(found, Kind::kLinear) + seconds_of(found, Kind::kElementwise));
  EXPECT_LE(sum, whole.count());
}

TEST(KindTimer, CountsNothingBeforeItsStartAndBehindItsEnd) {
  const at::Tensor a = at::randn({16, 16});
  KindTimer timer;
  at::mm(a, a);
  timer.start();
  timer.stop();
  at::mm(a, a);
  EXPECT_EQ(seconds_of(timer.seconds(), Kind::kLinear), 0);
}

// A backward pass on a GPU runs on LibTorch's own threads, which take our calls over.
TEST(KindTimer, SeesWhatOtherThreadsDoForThisOne) {
  const at::Tensor a = at::randn({16, 16});
  const KindSeconds found = timed([&] {
    const at::ThreadLocalState ours;
    std::thread([&] {
      const at::ThreadLocalStateGuard guard(ours);
      at::mm(a, a);
    }).join();
  });
  EXPECT_GT(seconds_of(found, Kind::kLinear), 0);
}

}  // namespace
}  // namespace adagp::experiment

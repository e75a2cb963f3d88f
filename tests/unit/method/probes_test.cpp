// Do the probes compute what their names say?

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/method/probes.h"

namespace adagp::method {
namespace {

std::vector<at::Tensor> layer(std::vector<double> values) {
  return {at::tensor(values, at::kDouble).view({1, -1})};
}

Probes::Emit emit(const std::vector<at::Tensor>& gradients) {
  return [&gradients](predictor::GradientSink& sink) { sink.accept(0, gradients[0].clone()); };
}

// BP batch number `count` with the true gradients g, of which the method would have used h.
void show(Probes& probes, int64_t count, const std::vector<at::Tensor>& g,
          const std::vector<at::Tensor>& h) {
  probes.begin(probes.turn(count));
  probes.see(g, emit(h));
  probes.end();
  probes.collect();
}

TEST(Probes, ValuesOfAHandComputedCase) {
  Probes probes(1, 1);
  const auto before = layer({1, 1, 0, 0}), g = layer({3, 0, 4, 1}), h = layer({1, 2, 2, 1});
  show(probes, 0, before, h);  // batch 0 is never measured, only kept
  EXPECT_FALSE(probes.measured());
  show(probes, 1, g, h);
  ASSERT_TRUE(probes.measured());
  const ProbeValues& v = probes.last()[0];
  EXPECT_NEAR(v.cosine, 12 / std::sqrt(10.0 * 26.0), 1e-12);
  EXPECT_NEAR(v.relative_error, std::sqrt(12.0 / 26.0), 1e-12);
  EXPECT_NEAR(v.norm_ratio, std::sqrt(10.0 / 26.0), 1e-12);
  EXPECT_NEAR(v.r2, 1 - 12.0 / 10.0, 1e-12);  // mean 2: spread 1+4+4+1
  EXPECT_NEAR(v.mse, 3.0, 1e-12);
  EXPECT_NEAR(v.mape, 100 * (2.0 / 3 + 0.5 + 0) / 3, 1e-9);  // the entry with g = 0 does not count
  EXPECT_NEAR(v.q, 3.0 / 3.0, 1e-12);
  EXPECT_NEAR(*probes.mean_cosine(), v.cosine, 1e-12);
  EXPECT_NEAR(*probes.mean_q(), 1.0, 1e-12);
}

TEST(Probes, KeepTheirTurns) {
  const Probes probes(1, 5);
  std::vector<int64_t> wanted;
  for (int64_t i = 0; i < 12; ++i) {
    if (probes.turn(i).any()) wanted.push_back(i);
  }
  EXPECT_EQ(wanted,
            (std::vector<int64_t>{4, 5, 9, 10}));  // 4 and 9 are kept for q, 5 and 10 measured
  EXPECT_FALSE(Probes(1, 0).turn(0).any());
}

TEST(Probes, ZeroGradientsHaveNoCosine) {
  Probes probes(1, 1);
  const auto g = layer({1, 2}), zero = layer({0, 0});
  show(probes, 0, g, zero);
  show(probes, 1, g, zero);
  EXPECT_FALSE(probes.mean_cosine().has_value());
  EXPECT_EQ(*probes.mean_q(), 0.0);
}

TEST(Probes, GoOnFromTheirState) {
  Probes one(1, 1), other(1, 1);
  const auto g = layer({1, 2}), h = layer({2, 1});
  show(one, 0, g, h);
  show(one, 1, g, h);
  other.load_state(one.state());
  show(one, 2, h, g);
  show(other, 2, h, g);
  EXPECT_EQ(*one.mean_cosine(), *other.mean_cosine());
  EXPECT_EQ(*one.mean_q(), *other.mean_q());
}

}  // namespace
}  // namespace adagp::method

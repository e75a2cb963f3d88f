// The map of a dense block where our kernels do not run, and the pitch of views.

#include "adagp/engine/nn/growing_map.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::nn {
namespace {

at::Tensor channels_last(const at::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}

TEST(GrowingMap, PitchIsTheDistanceOfPositions) {
  const at::Tensor wide = channels_last(at::randn({2, 10, 3, 5}));
  EXPECT_EQ(device::pitch_of(wide), 10);
  EXPECT_EQ(device::pitch_of(wide.narrow(1, 0, 4)), 10);
  EXPECT_EQ(device::pitch_of(wide.narrow(1, 3, 4)), 10);
  EXPECT_EQ(device::pitch_of(at::randn({2, 10, 3, 5})), 0) << "contiguous";
  EXPECT_EQ(device::pitch_of(wide.narrow(2, 0, 2)), 0) << "rows are missing between images";
  EXPECT_EQ(device::pitch_of(wide.narrow(0, 0, 1).narrow(2, 0, 2)), 10) << "of one image";
  EXPECT_EQ(device::pitch_of(channels_last(at::randn({4, 6, 1, 1})).narrow(1, 0, 2)), 6);
  EXPECT_EQ(device::pitch_of(channels_last(at::randn({1, 6, 1, 1})).narrow(1, 0, 2)), 2);
  EXPECT_EQ(device::pitch_of(at::randn({1, 10, 1, 5}).expand({2, 10, 3, 5})), 0);
  EXPECT_EQ(device::pitch_of(at::ones({1, 8, 1, 1}).expand({1, 8, 3, 3})), 0) << "one pixel";
  EXPECT_EQ(
      device::pitch_of(channels_last(at::ones({1, 32, 2, 1})).narrow(1, 0, 8).expand({1, 8, 2, 4})),
      0)
      << "one column";
  EXPECT_EQ(device::pitch_of(at::randn({2, 10})), 0);
  EXPECT_TRUE(device::pitched(wide.narrow(1, 0, 4)).is_alias_of(wide));
  EXPECT_EQ(device::pitch_of(device::pitched(at::randn({2, 10, 3, 5}))), 10);
}

TEST(GrowingMap, DenseCopiesOnlyWhatHasGaps) {
  const at::Tensor wide = channels_last(at::randn({2, 10, 3, 5}));
  EXPECT_TRUE(dense(wide).is_alias_of(wide));
  const at::Tensor part = wide.narrow(1, 0, 4), copy = dense(part);
  EXPECT_FALSE(copy.is_alias_of(wide));
  EXPECT_TRUE(at::equal(copy, part));
  EXPECT_TRUE(copy.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(dense(at::randn({4, 6}).t()).sizes() == (std::vector<int64_t>{6, 4}));
  EXPECT_TRUE(dense(at::randn({4, 6}).narrow(1, 0, 2)).is_contiguous());
}

TEST(GrowingMap, OnACpuItIsNormReluAndConcat) {
  at::manual_seed(3);
  BatchNorm2d norm(4), plain(4);
  const at::Tensor x = channels_last(at::randn({3, 4, 5, 5})).requires_grad_();
  const at::Tensor y = x.detach().clone().requires_grad_();
  GrowingMap map(8);
  const NormBranch branch = map.norm_relu_branch(*norm, x);
  const at::Tensor grown = map.grow(branch.passed_on, branch.normed * 2);
  const at::Tensor expected = at::cat({y, at::relu(plain->forward(y)) * 2}, 1);
  EXPECT_TRUE(at::equal(grown, expected));
  const at::Tensor weights = at::randn_like(expected);
  (grown * weights).sum().backward();
  (expected * weights).sum().backward();
  EXPECT_TRUE(at::allclose(x.grad(), y.grad(), 1e-6, 1e-6));
  EXPECT_TRUE(at::equal(norm->running_mean, plain->running_mean));
}

class OutputsSeen : public TapSink {
 public:
  void on_output(const WeightLayer&, const at::Tensor&, const at::Tensor& output) override {
    last = output;
  }
  at::Tensor last;
};

TEST(GrowingMap, OnACpuTheConvolutionAndTheNormBehindAreThemselves) {
  at::manual_seed(4);
  Conv2d layer(conv(6, 4, 3, 1, 1, false));
  BatchNorm2d norm(8), plain(8);
  const at::Tensor x = channels_last(at::randn({3, 4, 5, 5}));
  const at::Tensor input = channels_last(at::randn({3, 6, 5, 5}));
  GrowingMap map(8);
  OutputsSeen sink;
  const TapScope taps(sink);
  const at::Tensor grown = map.grow(x, *layer, input), added = sink.last;
  EXPECT_TRUE(at::equal(grown, at::cat({x, layer->forward(input)}, 1)));
  EXPECT_TRUE(at::equal(grown.narrow(1, 4, 4), added)) << "what the tap saw";
  EXPECT_TRUE(at::equal(map.norm_relu(*norm, grown), at::relu(plain->forward(grown))));
}

TEST(GrowingMap, RefusesMoreChannelsThanThereIsRoomFor) {
  const at::Tensor x = at::zeros({1, 4, 2, 2});
  EXPECT_THROW(GrowingMap(7).grow(x, x), UsageError);
  EXPECT_EQ(GrowingMap(8).grow(x, x).size(1), 8);
}

}  // namespace
}  // namespace adagp::nn

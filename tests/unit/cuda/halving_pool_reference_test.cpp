// The halving pool's reference against ATen and its autograd.

#include "adagp/gpu/cuda/conv/halving_pool.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace adagp::cuda {
namespace {

at::Tensor in_nhwc(const at::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}

TEST(HalvingPoolReference, ForwardAndGradientEqualAtens) {
  at::manual_seed(6);
  for (const auto& [height, width] : {std::pair{2, 2}, {2, 6}, {8, 2}, {4, 10}}) {
    SCOPED_TRACE(testing::Message() << height << "x" << width);
    const at::Tensor x = in_nhwc(at::randn({3, 8, height, width})).requires_grad_();
    const at::Tensor y = at::avg_pool2d(x, {2, 2}, {2, 2});
    const at::Tensor dy = in_nhwc(at::randn_like(y));
    y.backward(dy);
    const Map map{3, height, width, 8};
    const at::Tensor mean = at::zeros_like(dy), dx = at::zeros_like(x);
    reference::halving_pool({Type::kFloat, map, false, x.const_data_ptr(), mean.data_ptr()});
    reference::halving_pool({Type::kFloat, map, true, dy.const_data_ptr(), dx.data_ptr()});
    EXPECT_TRUE(at::equal(mean, y.detach()));  // the same additions in the same order
    EXPECT_TRUE(at::equal(dx, x.grad()));
  }
}

TEST(HalvingPoolReference, FitsEvenSidesAndVectorsOfEightChannels) {
  EXPECT_TRUE(halving_pool_fits({1, 4, 6, 16}));
  EXPECT_FALSE(halving_pool_fits({1, 4, 6, 12}));
  EXPECT_FALSE(halving_pool_fits({1, 3, 6, 16}));
  EXPECT_FALSE(halving_pool_fits({1, 4, 5, 16}));
}

}  // namespace
}  // namespace adagp::cuda

// The average pool's reference against ATen and its autograd.

#include "adagp/gpu/cuda/conv/average_pool.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace adagp::cuda {
namespace {

at::Tensor pooled(const at::Tensor& in, bool count_padding, bool gradient) {
  const at::Tensor map = in.contiguous(at::MemoryFormat::ChannelsLast), out = at::zeros_like(map);
  reference::average_pool({Type::kFloat,
                           {map.size(0), map.size(2), map.size(3), map.size(1)},
                           count_padding,
                           gradient,
                           map.data_ptr(),
                           out.data_ptr()});
  return out;
}

TEST(AveragePoolReference, ForwardAndGradientEqualAtens) {
  at::manual_seed(5);
  for (const auto& [height, width] : {std::pair{7, 5}, {1, 1}, {1, 6}, {2, 2}, {8, 8}}) {
    for (const bool count_padding : {true, false}) {
      SCOPED_TRACE(testing::Message() << height << "x" << width << " " << count_padding);
      const at::Tensor x = at::randn({3, 8, height, width}).requires_grad_();
      const at::Tensor y = at::avg_pool2d(x, {3, 3}, {1, 1}, {1, 1}, false, count_padding);
      const at::Tensor dy = at::randn_like(y);
      y.backward(dy);
      EXPECT_TRUE(at::allclose(pooled(x.detach(), count_padding, false), y.detach(), 1e-5, 1e-6));
      EXPECT_TRUE(at::allclose(pooled(dy, count_padding, true), x.grad(), 1e-5, 1e-6));
    }
  }
}

TEST(AveragePoolReference, FitsVectorsOfEightChannels) {
  EXPECT_TRUE(average_pool_fits({1, 4, 4, 16}));
  EXPECT_FALSE(average_pool_fits({1, 4, 4, 12}));
}

}  // namespace
}  // namespace adagp::cuda

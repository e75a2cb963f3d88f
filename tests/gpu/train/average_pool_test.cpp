// Inception's average pool on a GPU, against ATen in fp64 on the CPU.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/nn/average_pool.h"
#include "gpu/train/world.h"

namespace adagp {
namespace {

using test::GpuTest;

TEST_F(GpuTest, AveragePoolAndItsGradientEqualAtens) {
  at::manual_seed(51);
  for (const bool count_padding : {true, false}) {
    nn::Pool2d pool{3, 1, 1, "pool"};
    pool.count_padding = count_padding;
    const at::Tensor values = at::randn({4, 24, 9, 7});
    const at::Tensor x = values.to(at::kCUDA).requires_grad_();
    const at::Tensor expected_x = values.to(at::kDouble).requires_grad_();
    ASSERT_TRUE(nn::fits_average_pool(pool, x));
    const at::Tensor y = nn::avg_pool2d(x, pool), expected = nn::avg_pool2d(expected_x, pool);
    const at::Tensor dy = at::randn_like(expected);
    y.backward(dy.to(at::kCUDA, at::kFloat));
    expected.backward(dy);
    EXPECT_TRUE(at::allclose(y.detach().cpu().to(at::kDouble), expected.detach(), 1e-5, 1e-6));
    EXPECT_TRUE(at::allclose(x.grad().cpu().to(at::kDouble), expected_x.grad(), 1e-5, 1e-6));
  }
}

}  // namespace
}  // namespace adagp

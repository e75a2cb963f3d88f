// The average pools of Inception and DenseNet on a GPU, against ATen in fp64 on the CPU.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/nn/average_pool.h"
#include "gpu/train/world.h"

namespace adagp {
namespace {

using test::GpuTest;

TEST_F(GpuTest, AveragePoolsAndTheirGradientsEqualAtens) {
  at::manual_seed(51);
  nn::Pool2d inside{3, 1, 1, "pool"};
  inside.count_padding = false;
  for (const nn::Pool2d& pool : {nn::Pool2d{3, 1, 1, "pool"}, inside, {2, 2, 0, "pool"}}) {
    const at::Tensor values =
        pool.kernel == 3 ? at::randn({4, 24, 9, 7}) : at::randn({4, 24, 10, 6});
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
  EXPECT_FALSE(nn::fits_average_pool({2, 2, 0, "pool"}, at::zeros({1, 8, 3, 4}, at::kCUDA)));
}

}  // namespace
}  // namespace adagp

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/gpu/cuda/data/shrink.h"

namespace adagp::cuda {
namespace {

at::Tensor by_reference(const at::Tensor& images, int64_t height, int64_t width) {
  ShrinkArgs args;
  args.in = images.const_data_ptr();
  args.type = images.scalar_type() == at::kFloat ? Type::kFloat : Type::kBFloat16;
  args.batch = images.size(0);
  args.height = images.size(1);
  args.width = images.size(2);
  args.out_height = height;
  args.out_width = width;
  at::Tensor out = at::full({args.batch, height, width, 3}, 77.0, images.scalar_type());
  args.out = out.mutable_data_ptr();
  reference::shrink(args);
  return out;
}

TEST(ShrinkReference, IsTorchsAreaInterpolation) {
  at::manual_seed(1);
  for (const auto& [from, to] : {std::pair{32, 16}, {32, 24}, {32, 32}, {32, 1}, {7, 5}, {9, 2}}) {
    const at::Tensor images = at::randn({3, from, from + 1, 3});
    const at::Tensor expected =
        at::adaptive_avg_pool2d(images.permute({0, 3, 1, 2}).to(at::kDouble), {to, to})
            .permute({0, 2, 3, 1});
    // Sums of at most 1056 floats.
    EXPECT_TRUE(at::allclose(by_reference(images, to, to).to(at::kDouble), expected, 1e-5, 1e-5))
        << from << " to " << to;
    const at::Tensor low = images.to(at::kBFloat16);
    const at::Tensor of_low =
        at::adaptive_avg_pool2d(low.permute({0, 3, 1, 2}).to(at::kDouble), {to, to})
            .permute({0, 2, 3, 1});
    // bf16 keeps eight bits: half a unit of the last place.
    EXPECT_TRUE(at::allclose(by_reference(low, to, to).to(at::kDouble), of_low, 1.0 / 256, 1e-5));
  }
}

}  // namespace
}  // namespace adagp::cuda

// The reference of copy_channels against ATen.

#include "adagp/gpu/cuda/norm/copy_channels.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace adagp::cuda {
namespace {

TEST(CopyChannelsReference, CopiesAPartAndNothingBeside) {
  at::manual_seed(6);
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const auto random = [type](int64_t channels) {
      return at::randn({3, channels, 4, 5}).to(type).contiguous(at::MemoryFormat::ChannelsLast);
    };
    const at::Tensor from = random(10), to = random(17), expected = to.clone();
    expected.narrow(1, 4, 6).copy_(from.narrow(1, 3, 6));
    const at::Tensor source = from.narrow(1, 3, 6), target = to.narrow(1, 4, 6);
    reference::copy_channels({type == at::kFloat ? Type::kFloat : Type::kBFloat16,
                              {3, 4, 5, 6},
                              source.data_ptr(),
                              10,
                              target.data_ptr(),
                              17});
    EXPECT_TRUE(at::equal(to, expected));
  }
}

TEST(CopyChannelsReference, WithoutPitchesBothAreDense) {
  const at::Tensor from = at::randn({24}), to = at::zeros({24});
  reference::copy_channels({Type::kFloat, {2, 2, 2, 3}, from.data_ptr(), 0, to.data_ptr(), 0});
  EXPECT_TRUE(at::equal(to, from));
}

}  // namespace
}  // namespace adagp::cuda

// Is the process's TF32 setting put back?

#include "adagp/gpu/device/tf32.h"

#include <optional>
#include <utility>

#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace adagp::device {
namespace {

std::pair<bool, bool> tf32_setting() {  // of convolutions, of matrix products
  return {at::globalContext().allowTF32CuDNN(), at::globalContext().allowTF32CuBLAS()};
}

TEST(Tf32, IsPutBackByTheLastThatSwitchedItOff) {
  const auto before = tf32_setting();
  for (const auto& setting : {std::pair{true, false}, {true, true}, {false, true}}) {
    at::globalContext().setAllowTF32CuDNN(setting.first);
    at::globalContext().setAllowTF32CuBLAS(setting.second);
    std::optional<WithoutTf32> first(std::in_place);
    std::optional<WithoutTf32> second(std::in_place);
    EXPECT_EQ(tf32_setting(), std::pair(false, false));
    first.reset();  // the second still needs exact products
    EXPECT_EQ(tf32_setting(), std::pair(false, false));
    second.reset();
    EXPECT_EQ(tf32_setting(), setting);
  }
  at::globalContext().setAllowTF32CuDNN(before.first);
  at::globalContext().setAllowTF32CuBLAS(before.second);
}

TEST(Tf32, ProductsFollowForAWhile) {
  const auto before = tf32_setting();
  for (const bool on : {true, false}) {
    {
      const ProductsInTf32 products(on);
      EXPECT_EQ(tf32_setting(), std::pair(before.first, on));
    }
    EXPECT_EQ(tf32_setting(), before);
  }
}

}  // namespace
}  // namespace adagp::device

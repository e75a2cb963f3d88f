// The machine's left shift against ldexp and integers of 64 bits.
#include "arithmetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace adagp::rtl {
namespace {

TEST(MachineArithmetic, RaisesFixedPointUpToTheLargestNumberOfItsSign) {
  const std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  std::mt19937 random(1);
  int saturated = 0;
  for (int i = 0; i < 20000; ++i) {
    // Numbers of every length, and the borders.
    const std::int32_t borders[] = {0, 1, -1, 1 << 30, -(1 << 30), INT32_MAX, INT32_MIN};
    const auto x = i < 7 * 32 ? borders[i / 32] : static_cast<std::int32_t>(random()) >> i % 32;
    const int shift = i < 7 * 32 ? i % 32 : static_cast<int>(random() % 32);
    const std::int64_t exact = static_cast<std::int64_t>(x) * (std::int64_t{1} << shift),
                       expected = std::clamp(exact, -largest, largest);
    const std::uint32_t seen = raised(Format::kFixed, static_cast<std::uint32_t>(x), shift);
    ASSERT_EQ(static_cast<std::int32_t>(seen), expected) << x << " << " << shift;
    // An error subtracts it: its negative has the other sign.
    ASSERT_EQ(static_cast<std::int32_t>(negated(Format::kFixed, seen)), -expected);
    saturated += exact != expected;
  }
  EXPECT_GT(saturated, 1000);
}

TEST(MachineArithmetic, RaisesFloatsToInfinityAndSubnormalsToZero) {
  std::mt19937 random(2);
  const float borders[] = {0.0f,     -0.0f,    1.0f, std::ldexp(1.0f, 127), -std::ldexp(1.5f, 96),
                           INFINITY, -INFINITY};
  int infinite = 0, zero = 0, ordinary = 0;
  for (int i = 0; i < 50000; ++i) {
    const int shift = i < 7 * 32 ? i % 32 : static_cast<int>(random() % 32);
    std::uint32_t x = i < 7 * 32 ? std::bit_cast<std::uint32_t>(borders[i / 32])
                                 : static_cast<std::uint32_t>(random());
    if (i >= 7 * 32 && i % 4 == 0) x &= 0x807fffffu;                     // subnormal
    if (i >= 7 * 32 && i % 4 == 1) x = (x & 0xf0ffffffu) | 0x70000000u;  // close to overflow
    const auto number = std::bit_cast<float>(x);
    if (std::isnan(number)) continue;  // no result of the machine
    const float expected =
        std::fabs(number) < std::numeric_limits<float>::min() ? 0 : std::ldexp(number, shift);
    const std::uint32_t seen = raised(Format::kBf16, x, shift);
    ASSERT_EQ(seen, std::bit_cast<std::uint32_t>(expected)) << number << " << " << shift;
    (std::isinf(expected) ? infinite : expected == 0 ? zero : ordinary)++;
  }
  EXPECT_GT(std::min({infinite, zero, ordinary}), 1000);
}

}  // namespace
}  // namespace adagp::rtl

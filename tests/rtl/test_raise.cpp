// The left shift alone against arithmetic.h, whose own test is tests/unit/rtl/arithmetic_test.cpp.
// Usage: test_raise [VECTORS] [SEED]
#include <cstdio>
#include <cstdlib>
#include <random>

#include "Vraise.h"
#include "arithmetic.h"
#include "verilated.h"

int main(int count, char** values) {
  using namespace adagp::rtl;
  const long vectors = count > 1 ? std::atol(values[1]) : 1'000'000;
  std::mt19937 random(static_cast<std::uint32_t>(count > 2 ? std::atoi(values[2]) : 1));
  const std::uint32_t borders[] = {0u,          1u,          0xffffffffu, 0x40000000u, 0xc0000000u,
                                   0x7fffffffu, 0x80000000u, 0x80000001u, 0x7f800000u, 0xff800000u,
                                   0x007fffffu, 0x807fffffu, 0x00800000u, 0x7f7fffffu};
  const long edges = 32 * static_cast<long>(std::size(borders));
  Vraise rtl;
  long wrong = 0;
  for (long i = 0; i < vectors; ++i) {
    const int shift = static_cast<int>(i % 32);
    const auto any = static_cast<std::uint32_t>(random());
    // Numbers of every length.
    rtl.x = i < edges ? borders[i / 32]
                      : static_cast<std::uint32_t>(static_cast<std::int32_t>(any) >> random() % 32);
    if (ADAGP_FORMAT == 1 && i >= edges) rtl.x = any;
    rtl.shift = static_cast<std::uint8_t>(shift);
    rtl.eval();
    const std::uint32_t expected = raised(static_cast<Format>(ADAGP_FORMAT), rtl.x, shift);
    if (rtl.y != expected && wrong++ < 10)
      std::printf("%08x << %d: %08x, expected %08x\n", rtl.x, shift, rtl.y, expected);
  }
  std::printf("raise %s: %ld vectors: %ld wrong\n", kFormatNames[ADAGP_FORMAT], vectors, wrong);
  return wrong != 0;
}

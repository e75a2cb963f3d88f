// The multiply-add alone against this CPU's float arithmetic (arithmetic.h), on vectors of five
// kinds: ordinary, cancelling, any exponent, subnormal and at the border of overflow. What happens
// there: subnormal operands and results count as +0, overflow gives infinity, and there is no NaN.
// Usage: test_mac [VECTORS] [SEED]
#include <cstdio>
#include <cstdlib>
#include <random>

#include "Vmac.h"
#include "arithmetic.h"
#include "verilated.h"

namespace {

using namespace adagp::rtl;

struct Vector {
  std::uint16_t a, b;
  std::uint32_t c;
};

std::uint16_t bf16(std::uint32_t bits, std::uint32_t exponent) {
  return static_cast<std::uint16_t>((bits & 0x807f) | (exponent & 0xff) << 7);
}

Vector draw(std::mt19937& random, long i) {
  const std::uint32_t r = random(), s = random(), t = random();
  const auto in = [&](std::uint32_t low, std::uint32_t high) {
    return low + random() % (high - low + 1);
  };
  const auto sum = [&](std::uint32_t exponent) {
    return (s & 0x807fffffu) | (exponent & 0xff) << 23;
  };
  switch (i % 5) {
    case 0:
      return {bf16(r, in(115, 140)), bf16(r >> 16, in(115, 140)), sum(in(105, 150))};
    case 1: {
      // c is the negative product, give or take a few units in the last place
      const std::uint16_t a = bf16(r, in(100, 150)), b = bf16(r >> 16, in(100, 150));
      const std::uint32_t product = mac_bf16(a, b, 0);
      return {a, b, (product ^ 0x80000000u) + t % 5 - 2};
    }
    case 2:
      return {bf16(r, t), bf16(r >> 16, t >> 8), sum(t >> 16)};
    case 3:
      return {bf16(r, in(0, 70)), bf16(r >> 16, in(0, 70)), sum(in(0, 30))};
    default:
      return {bf16(r, in(185, 255)), bf16(r >> 16, in(185, 255)), sum(in(245, 255))};
  }
}

}  // namespace

int main(int count, char** values) {
  const long vectors = count > 1 ? std::atol(values[1]) : 10'000'000;
  std::mt19937 random(static_cast<std::uint32_t>(count > 2 ? std::atoi(values[2]) : 1));
  Vmac rtl;
  long wrong = 0, zero = 0, infinite = 0;
  for (long i = 0; i < vectors; ++i) {
    const Vector v = ADAGP_FORMAT ? draw(random, i)
                                  : Vector{static_cast<std::uint16_t>(random()),
                                           static_cast<std::uint16_t>(random()),
                                           static_cast<std::uint32_t>(random())};
    rtl.a = v.a;
    rtl.b = v.b;
    rtl.c = v.c;
    rtl.eval();
    const std::uint32_t expected = mac(static_cast<Format>(ADAGP_FORMAT), v.a, v.b, v.c);
    zero += expected == 0;
    infinite += (expected & 0x7fffffff) == 0x7f800000;
    if (rtl.y != expected && wrong++ < 10)
      std::printf("a %04x b %04x c %08x: %08x, expected %08x\n", v.a, v.b, v.c, rtl.y, expected);
  }
  std::printf("mac %s: %ld vectors (%ld zeros, %ld infinities): %ld wrong\n",
              kFormatNames[ADAGP_FORMAT], vectors, zero, infinite, wrong);
  const bool reached = !ADAGP_FORMAT || vectors < 1000 || (zero > 0 && infinite > 0);
  if (!reached) std::printf("the vectors reach no zero or no infinity\n");
  return wrong != 0 || !reached;
}

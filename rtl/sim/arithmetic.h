#pragma once
// The machine's arithmetic, bit by bit, written with the CPU's own integers and floats. Torch-free.
// Fixed: 16-bit operands, 32-bit sums that wrap, rounding to nearest even, 16-bit results saturate.
// bf16: bfloat16 operands, float32 sums. There are no subnormals and no NaN: subnormal operands and
// results are +0, every zero result is +0, overflow gives infinity, an operand with exponent 255
// counts as infinity, zero times infinity is 0, and of two infinities the sum keeps the first's
// sign.

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>

#include "adagp/sim/rtl/machine_table.h"

namespace adagp::rtl {

inline std::uint32_t float_add(std::uint32_t a, std::uint32_t b) {
  constexpr std::uint32_t kInfinity = 0x7f800000u;
  for (const std::uint32_t x : {a, b})
    if ((x & kInfinity) == kInfinity) return x & 0xff800000u;
  const float fa = (a & kInfinity) ? std::bit_cast<float>(a) : 0.0f;
  const float fb = (b & kInfinity) ? std::bit_cast<float>(b) : 0.0f;
  const std::uint32_t sum = std::bit_cast<std::uint32_t>(fa + fb);
  return (sum & kInfinity) ? sum : 0;
}

// c + a * b with bfloat16 a and b. The float product is exact where it is a normal number.
inline std::uint32_t mac_bf16(std::uint16_t a, std::uint16_t b, std::uint32_t c) {
  const int ea = a >> 7 & 0xff, eb = b >> 7 & 0xff;
  std::uint32_t product = 0;
  if (ea == 0 || eb == 0) {
    product = 0;
  } else if (ea == 255 || eb == 255) {
    product = (static_cast<std::uint32_t>((a ^ b) & 0x8000) << 16) | 0x7f800000u;
  } else {
    product =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(static_cast<std::uint32_t>(a) << 16) *
                                     std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16));
  }
  return float_add(c, product);
}

inline std::uint32_t mac_fixed(std::uint16_t a, std::uint16_t b, std::uint32_t c) {
  return c +
         static_cast<std::uint32_t>(static_cast<std::int16_t>(a) * static_cast<std::int16_t>(b));
}

inline std::uint32_t mac(Format f, std::uint16_t a, std::uint16_t b, std::uint32_t c) {
  return f == Format::kFixed ? mac_fixed(a, b, c) : mac_bf16(a, b, c);
}

inline std::uint32_t add(Format f, std::uint32_t a, std::uint32_t b) {
  return f == Format::kFixed ? a + b : float_add(a, b);
}

inline std::uint32_t negated(Format f, std::uint32_t x) {
  return f == Format::kFixed ? 0u - x : x ^ 0x80000000u;
}

// x / 2^shift, 32 bits.
inline std::uint32_t scaled(Format f, std::uint32_t x, int shift) {
  if (f == Format::kFixed) {
    const std::int64_t value = static_cast<std::int32_t>(x);
    const std::int64_t unit = std::int64_t{1} << shift;
    std::int64_t whole = value >> shift;
    const std::int64_t twice_rest = 2 * (value - whole * unit);
    if (twice_rest > unit || (twice_rest == unit && (whole & 1))) ++whole;
    return static_cast<std::uint32_t>(whole);
  }
  const std::uint32_t exponent = x >> 23 & 0xff;
  if (exponent == 255) return x & 0xff800000u;
  if (exponent == 0) return 0;
  const std::uint32_t out =
      std::bit_cast<std::uint32_t>(std::ldexp(std::bit_cast<float>(x), -shift));
  return exponent <= static_cast<std::uint32_t>(shift) ? 0 : out;
}

// x * 2^shift, 32 bits. Fixed: saturates at +-(2^31 - 1), whose negatives are numbers, too.
inline std::uint32_t raised(Format f, std::uint32_t x, int shift) {
  if (f == Format::kFixed) {
    const std::int64_t value =
        static_cast<std::int64_t>(static_cast<std::int32_t>(x)) * (std::int64_t{1} << shift);
    return static_cast<std::uint32_t>(value > INT32_MAX    ? INT32_MAX
                                      : value < -INT32_MAX ? -INT32_MAX
                                                           : value);
  }
  const std::uint32_t exponent = x >> 23 & 0xff, raise = static_cast<std::uint32_t>(shift);
  if (exponent == 0) return 0;
  return exponent + raise >= 255 ? (x & 0x80000000u) | 0x7f800000u : x + (raise << 23);
}

// x / 2^shift, 16 bits.
inline std::uint16_t narrowed(Format f, std::uint32_t x, int shift) {
  const std::uint32_t wide = scaled(f, x, shift);
  if (f == Format::kFixed) {
    const auto value = static_cast<std::int32_t>(wide);
    return static_cast<std::uint16_t>(value > 32767 ? 32767 : value < -32768 ? -32768 : value);
  }
  return static_cast<std::uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
}

// A 16-bit operand as a sum.
inline std::uint32_t widened(Format f, std::uint16_t x) {
  return f == Format::kFixed ? static_cast<std::uint32_t>(static_cast<std::int16_t>(x))
                             : static_cast<std::uint32_t>(x) << 16;
}

}  // namespace adagp::rtl

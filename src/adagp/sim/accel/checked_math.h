#pragma once
// 64-bit arithmetic that says so instead of wrapping around. Sizes, words and cycles use it.

#include <cstdint>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::accel {

// A product or sum of sizes left 64 bits. Callers that know the layer catch it and add the name.
class Overflow : public DataError {
 public:
  using DataError::DataError;
};

[[noreturn]] inline void throw_overflow(int64_t a, char sign, int64_t b) {
  throw Overflow(core::cat(a, " ", sign, " ", b, " exceeds 64 bits: the sizes are too large"));
}

inline int64_t mul(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) [[unlikely]] {
    throw_overflow(a, '*', b);
  }
  return out;
}

inline int64_t add(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) [[unlikely]] {
    throw_overflow(a, '+', b);
  }
  return out;
}

template <typename... Rest>
int64_t mul(int64_t a, int64_t b, Rest... rest) {
  return mul(mul(a, b), rest...);
}

template <typename... Rest>
int64_t add(int64_t a, int64_t b, Rest... rest) {
  return add(add(a, b), rest...);
}

// a / b rounded up, for a >= 0 and b >= 1; cannot overflow.
inline int64_t ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace adagp::accel

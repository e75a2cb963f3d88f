#pragma once
// Arithmetic of sizes that throws instead of wrapping around.

#include <cstdint>
#include <initializer_list>

#include "adagp/base/core/error.h"

namespace adagp::layers {

[[noreturn]] inline void sizes_too_large() {
  throw DataError("the sizes do not fit into 64 bits");
}

inline int64_t sum_of(int64_t a, int64_t b) {
  if (__builtin_add_overflow(a, b, &a)) sizes_too_large();
  return a;
}

inline int64_t product_of(std::initializer_list<int64_t> factors) {
  int64_t out = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(out, factor, &out)) sizes_too_large();
  }
  return out;
}

}  // namespace adagp::layers

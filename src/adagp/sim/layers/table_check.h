#pragma once
// Whether the sizes of a row of a layer table fit together.

#include <cstdint>
#include <initializer_list>
#include <string>

#include "adagp/base/core/error.h"
#include "adagp/sim/layers/table.h"

namespace adagp::layers {

// Arithmetic of sizes that throws instead of wrapping around.

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

// Sizes along one axis of a convolution.
struct Axis {
  const char* name;  // "d", "h", "w"
  int64_t input, output, kernel, stride, padding, dilation;

  // Input points from the first to the last that a window sees. Throws DataError beyond 64 bits.
  int64_t span() const;
};
// Depth, height, width.
std::array<Axis, 3> axes_of(const Row& row);

// "" when groups divide the channels and the outputs follow from the inputs; else what does not.
// A window slides over input + 2 padding; fewer outputs than that gives are accepted, because
// padding may be uneven. Expects sizes of at least 1 and a padding of at least 0.
std::string shape_error(const Row& row);

}  // namespace adagp::layers

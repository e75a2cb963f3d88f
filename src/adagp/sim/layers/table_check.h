#pragma once
// Whether the sizes of a row of a layer table fit together.

#include <string>

#include "adagp/sim/layers/table.h"

namespace adagp::layers {

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

#pragma once
// Zero bits as TensorDash's lines of 16 lanes.

#include <array>
#include <cstdint>
#include <vector>

#include "adagp/sim/accel/operands.h"

namespace adagp::arrays {

// Channels of one group as lines of 16.
struct PackedLines {
  int64_t groups = 1, blocks = 1;
  std::vector<uint16_t> lines;  // [row][group][block]

  const uint16_t* at(int64_t row, int64_t group) const {
    return lines.data() + (row * groups + group) * blocks;
  }
};
PackedLines pack(const accel::ZeroBits& bits, int64_t groups);

// The filters' lines of every kernel position and input channel: W seen from the other side.
PackedLines pack_filters(const accel::ZeroBits& w, int64_t groups);

// Bit j of a[i] becomes bit i of a[j].
void transpose16(std::array<uint16_t, 16>& a);

}  // namespace adagp::arrays

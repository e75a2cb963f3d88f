#include "adagp/sim/arrays/packed_lines.h"

#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/arrays/tensordash_schedule.h"

namespace adagp::arrays {

using accel::ceil_div;

PackedLines pack(const accel::ZeroBits& bits, int64_t groups) {
  PackedLines out;
  out.groups = groups;
  const int64_t own = bits.channels / groups;
  out.blocks = ceil_div(own, kLanes);
  out.lines.assign(static_cast<size_t>(bits.rows() * groups * out.blocks), 0);
  for (int64_t row = 0; row < bits.rows(); ++row) {
    for (int64_t group = 0; group < groups; ++group) {
      uint16_t* const line = out.lines.data() + (row * groups + group) * out.blocks;
      const int64_t first = group * own;
      if (first % 8 == 0 && (own % 8 == 0 || groups == 1)) {
        const uint8_t* const bytes = bits.bytes.data() + row * bits.row_bytes() + first / 8;
        for (int64_t i = 0; i < ceil_div(own, 8); ++i) {
          line[i / 2] |= static_cast<uint16_t>(bytes[i] << (8 * (i % 2)));
        }
      } else {
        for (int64_t c = 0; c < own; ++c) {
          if (bits.at(row, first + c)) line[c / kLanes] |= static_cast<uint16_t>(1 << c % kLanes);
        }
      }
    }
  }
  return out;
}

void transpose16(std::array<uint16_t, 16>& a) {
  uint16_t mask = 0x00FF;
  for (unsigned j = 8; j != 0; j >>= 1, mask = static_cast<uint16_t>(mask ^ (mask << j))) {
    for (unsigned k = 0; k < 16; k = (k + j + 1) & ~j) {
      const auto swapped = static_cast<uint16_t>(((a[k] >> j) ^ a[k + j]) & mask);
      a[k + j] = static_cast<uint16_t>(a[k + j] ^ swapped);
      a[k] = static_cast<uint16_t>(a[k] ^ (swapped << j));
    }
  }
}

PackedLines pack_filters(const accel::ZeroBits& w, int64_t groups) {
  PackedLines out;
  out.groups = groups;
  const int64_t filters = w.outer[0] / groups, positions = w.outer[1] * w.outer[2];
  out.blocks = ceil_div(filters, kLanes);
  out.lines.assign(static_cast<size_t>(positions * w.channels * groups * out.blocks), 0);
  for (int64_t m = 0; m < w.outer[0]; ++m) {
    const int64_t group = m / filters, lane = m % filters;
    for (int64_t position = 0; position < positions; ++position) {
      for (int64_t c = 0; c < w.channels; ++c) {
        if (!w.at(m * positions + position, c)) continue;
        const int64_t row = position * w.channels + c;
        out.lines[static_cast<size_t>((row * groups + group) * out.blocks + lane / kLanes)] |=
            static_cast<uint16_t>(1 << lane % kLanes);
      }
    }
  }
  return out;
}

}  // namespace adagp::arrays

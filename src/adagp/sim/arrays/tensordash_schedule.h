#pragma once
// TensorDash's scheduler (Mahmoud et al., MICRO 2020): 16 multipliers, each with eight inputs.
//
// A stream is a list of lines of 16 lanes; bit i of a line says that lane i has a pair to multiply.
// Each cycle a lane takes its own pair of the current line or, where that is zero, one of seven
// pairs of the next two lines in its own or a near lane (lanes form a ring). The rows of a tile
// advance together, over at most two lines more than the current one, as far as these are used up
// in all rows.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "adagp/sim/accel/operands.h"

namespace adagp::arrays {

inline constexpr int kLanes = 16;
inline constexpr int kLookahead = 2;

// The seven inputs beside a lane's own pair, in the order in which they are tried: (lines ahead,
// lanes to the right).
//   paper   (1,0) (2,0) (1,-1) (1,1) (2,-2) (2,2) (1,-3)
//   sorted  (1,-1) (1,0) (1,1) (1,3) (2,-2) (2,0) (2,2)   as in the authors' public simulator
enum class Order { kPaper, kSorted };
Order parse_order(const std::string& name);  // UsageError

// Lanes that are decided at once, in this order: no two of a level can want the same pair.
inline constexpr uint16_t kLevels[] = {0x0421, 0x0842, 0x1084, 0x2108, 0x4210, 0x8000};

// `rows` streams of `lines` lines, each followed by two empty lines: rows * (lines + 2) in all.
// Destroys them.
int64_t scheduled_cycles(std::span<uint16_t> streams, int64_t rows, int64_t lines, Order order);

// Zero bits as TensorDash's lines of 16 lanes.

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

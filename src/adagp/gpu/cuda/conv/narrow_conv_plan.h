#pragma once
// How the kernels of narrow_conv.h share the positions among blocks, and where in their memory and
// registers a number is. On both sides, so that it is tested without a GPU.

#include "adagp/gpu/cuda/both_sides.h"
#include "adagp/gpu/cuda/conv/narrow_conv.h"
#include "adagp/gpu/cuda/norm/norm_plan.h"

namespace adagp::cuda::narrow_conv {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kChannels = 128, kFilters = 32, kTaps = 9;  // a tap: row * 3 + column
constexpr int kTile = 16;                                 // positions of a warp's product
constexpr int kStages = 2;                                // one at work, the next on its way
constexpr int kMultiprocessors = 132;                     // blocks of a wave: one on each

// A unit of work is some consecutive positions, whatever images they belong to. In shared memory
// width + 1 more are before and behind it: all that taps can reach. Taps outside the image are
// found by the position's row and column, not by what lies there.
struct Units {
  int size = 0;                        // positions of a unit; the last unit may have fewer
  int count = 0;                       // units
  int each = 0, rest = 0, blocks = 0;  // units of a block; the first `rest` blocks have one more
  int width = 0;
  uint32_t positions = 0;
  plan::Divider rows, columns;  // of an image

  ADAGP_ON_BOTH_SIDES int halo() const { return width + 1; }
  ADAGP_ON_BOTH_SIDES int staged() const { return size + 2 * halo(); }
  ADAGP_ON_BOTH_SIDES int first_unit(int block) const {
    return block * each + (block < rest ? block : rest);
  }
};
Units units_of(const Map& map, int size, int most_blocks);

// Bit t: tap t of the position is inside its image.
ADAGP_ON_BOTH_SIDES inline uint32_t taps_inside(const Units& units, uint32_t position) {
  const uint32_t row_of_all = plan::quotient(position, units.columns);
  const uint32_t column = position - row_of_all * units.columns.divisor;
  const uint32_t row = row_of_all - plan::quotient(row_of_all, units.rows) * units.rows.divisor;
  uint32_t inside = 0x1FF;
  if (row == 0) inside &= ~0x007U;
  if (row + 1 == units.rows.divisor) inside &= ~0x1C0U;
  if (column == 0) inside &= ~0x049U;
  if (column + 1 == units.columns.divisor) inside &= ~0x124U;
  return inside;
}
// How far behind the place of the position minus halo() a tap is.
ADAGP_ON_BOTH_SIDES inline int tap_offset(int tap, int width) {
  return tap / 3 * width + tap % 3;
}

// Where 16 bytes are that are number `part` of row `row`, in bytes: so eight consecutive rows, read
// at the same part, are in different banks. Rows of 64, 128 or 256 bytes. 16 rows further
// everything is swizzled alike.
template <int kRowBytes>
ADAGP_ON_BOTH_SIDES constexpr int swizzled(int row, int part) {
  static_assert(kRowBytes == 64 || kRowBytes == 128 || kRowBytes == 256);
  const int turn = kRowBytes == 64 ? row / 2 % 4 : row % 8;
  return row * kRowBytes + ((part ^ turn) * 16);
}

// Forward. A warp has `tiles` tiles; a stage is half the channels of a unit.
constexpr int kStageChannels = 64, kHalves = kChannels / kStageChannels;
constexpr int kWeightBytes = kTaps * kFilters * kChannels * 2, kZeroBytes = 128;
// The largest of 4, 2 and 1 that fills the blocks and fits in the memory; 0: none fits.
int forward_tiles(const Map& map, int64_t block_memory);
Units forward_units(const Map& map, int tiles);
ADAGP_ON_BOTH_SIDES inline int forward_bytes(const Units& units) {
  return kWeightBytes + kZeroBytes + kStages * units.staged() * kStageChannels * 2;
}
// The filter of column `column` of product j, of which a position has four. So a lane ends up with
// eight consecutive filters.
ADAGP_ON_BOTH_SIDES inline int filter_of(int j, int column) {
  return column / 2 * 8 + j * 2 + column % 2;
}

// Weight gradient. A warp has 16 channels, a slice, and all their taps and filters: so many sums in
// each lane. A block has `slices` of the eight; its warps that have the same slice share the tiles
// of a unit.
constexpr int kSlices = kChannels / 16, kSums = kTaps * kFilters / 8 * 4;
constexpr int kGradientUnit = 256;
int gradient_slices(const Map& map);   // 4 or 2
Units gradient_units(const Map& map);  // blocks: those of the same slices
ADAGP_ON_BOTH_SIDES inline int gradient_stage_bytes(const Units& units, int slices) {
  return units.staged() * slices * 32 + units.size * kFilters * 2;
}
ADAGP_ON_BOTH_SIDES inline int gradient_bytes(const Units& units, int slices) {
  const int staged = kStages * gradient_stage_bytes(units, slices) + kZeroBytes;
  const int exchanged = kWarps / 2 * kSums * 32 * 4;
  return staged > exchanged ? staged : exchanged;
}
// Which weight sum `value` of a lane is, of a slice's first channel on.
struct GradientPlace {
  int filter, tap, channel;
};
ADAGP_ON_BOTH_SIDES inline GradientPlace gradient_place(int lane, int value) {
  const int part = value % 4, product = value / 4 % 4;
  return {8 * product + 2 * (lane % 4) + part % 2, value / 16, lane / 4 + part / 2 * 8};
}

}  // namespace adagp::cuda::narrow_conv

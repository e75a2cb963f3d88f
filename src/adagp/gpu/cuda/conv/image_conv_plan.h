#pragma once
// How the kernels of the first convolution share the images among blocks, and where in their memory
// and registers a number is. On both sides, so that it is tested without a GPU.

#include "adagp/gpu/cuda/both_sides.h"
#include "adagp/gpu/cuda/conv/image_conv.h"
#include "adagp/gpu/cuda/norm/norm_plan.h"

namespace adagp::cuda::image_conv {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kChannels = 3, kTaps = 27;  // of a filter: (row * 3 + column) * 3 + channel
constexpr int kDepth = 32;                // taps, filled up to what tensor cores take
constexpr int kTile = 16;                 // positions of a warp's product
// One wave of two blocks on each of 132 multiprocessors. Each has a fixed piece of the units.
constexpr int kMostBlocks = 2 * 132;
constexpr int kMostRows = 8;
constexpr int64_t kMostBandBytes = 20 * 1024;  // two bands: one at work, the next on its way

// A unit of work is a band: some whole rows of an image. Units are numbered as they lie in memory.
// In shared memory a band has a row more above and below, and zeros around the image; a row there
// is one element of nothing, a column of zeros, the image's columns, a column of zeros and another
// element of nothing: so pairs of elements stay pairs. Widths are even, because at most eight rows
// have a multiple of 16 positions.
struct Bands {
  int rows = 0, width = 0;  // rows = 0: there is no such cut
  int units = 0, blocks = 0;
  int each = 0, rest = 0;   // units of a block; the first `rest` blocks have one more
  plan::Divider per_image;  // bands of an image
  plan::Divider columns;    // positions of a row
  plan::Divider pairs;      // pairs of elements of a row of x

  ADAGP_ON_BOTH_SIDES int pitch() const { return kChannels * width + 8; }
  ADAGP_ON_BOTH_SIDES int elements() const { return (rows + 2) * pitch(); }  // in shared memory
  ADAGP_ON_BOTH_SIDES int all_pairs() const { return (rows + 2) * kChannels * width / 2; }
  ADAGP_ON_BOTH_SIDES int tiles() const { return rows * width / kTile; }
  ADAGP_ON_BOTH_SIDES int first_unit(int block) const {
    return block * each + (block < rest ? block : rest);
  }
};
Bands bands_of(const Map& map);

// Where pair i of the band's rows of x goes; it is in row `row`, the row above the band being 0.
ADAGP_ON_BOTH_SIDES inline int staged_pair(int i, int row) {
  return 2 * i + 8 * row + 4;
}
// Where the first tap of a band's position is, which is in row `row` of the band, and how far
// behind it another tap is. Those that fill up to kDepth are at the first one.
ADAGP_ON_BOTH_SIDES inline int staged_position(int position, int row) {
  return kChannels * position + 8 * row + 1;
}
ADAGP_ON_BOTH_SIDES inline int staged_tap(int tap, int pitch) {
  return tap < kTaps ? tap / 9 * pitch + tap % 9 : 0;
}

// Forward: the filter of a column of product j, of which a position has filters / 8. So a lane
// ends up with vectors of eight consecutive filters, and four lanes with four such vectors.
ADAGP_ON_BOTH_SIDES inline int filter_of(int j, int column) {
  return j / 4 * 32 + column / 2 * 8 + j % 4 * 2 + column % 2;
}

// Weight gradient: which one is sum `value` of a lane. Lane / 4 has filters / 8 consecutive
// filters, two in each product; a product has 8 taps.
struct GradientPlace {
  int filter, tap;  // tap >= kTaps: of no use
};
ADAGP_ON_BOTH_SIDES inline GradientPlace gradient_place(int lane, int value, int filters) {
  const int part = value % 4, taps = value / 4 % 4, pair = value / 16;
  return {lane / 4 * (filters / 8) + 2 * pair + part / 2, 8 * taps + 2 * (lane % 4) + part % 2};
}

}  // namespace adagp::cuda::image_conv

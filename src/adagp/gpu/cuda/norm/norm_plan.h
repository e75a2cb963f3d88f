#pragma once
// How the norm kernels share a map among blocks. Host code, so that it is tested without a GPU.

#include <cstdint>

#include "adagp/gpu/cuda/both_sides.h"
#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda::plan {

constexpr int kThreads = 256;
constexpr int kLanes = 8;  // channels per thread: 16 bytes of bf16

// Division by a number that the host knows, for n < 2^31.
struct Divider {
  uint32_t divisor = 1, magic = 1, shift = 0;
};
Divider divider(int64_t divisor);
ADAGP_ON_BOTH_SIDES inline uint32_t quotient(uint32_t n, const Divider& by) {
  return (static_cast<uint32_t>((static_cast<uint64_t>(n) * by.magic) >> 32) + n) >> by.shift;
}

// A block's threads: `width` vectors of channels side by side, times `rows` positions. All channels
// are `tiles` such widths.
struct Tiling {
  int channels = 0, tiles = 0, width = 0, rows = 0;
};
Tiling tiling(int64_t channels, int widest);
// Sums: narrow tiles, so that many blocks share the last step. bf16: 128 bytes in a row.
constexpr int kSumWidth = 8;
// Elementwise: as wide as the map, so that a block's memory is one piece.
constexpr int kMapWidth = kThreads;

// One side of a map, cut wherever a window of the summary begins or ends. A cell never crosses a
// window's edge, so the windows' sums are sums of cells, and there are never more than
// (2*size - 1)^2 of them.
constexpr int kLargestSize = 16;
constexpr int kMostCuts = 2 * kLargestSize - 1;
struct Axis {
  int cells = 1;
  uint32_t start[kMostCuts] = {};
  Divider length[kMostCuts];
  uint8_t first[kLargestSize] = {}, last[kLargestSize] = {};  // window i: cells first..last
};
Axis whole(int64_t length);              // one cell
Axis windows(int64_t length, int size);  // as torch's adaptive_avg_pool2d cuts it

// A sum over positions is the work of tiles x cells x chunks blocks. The last block done of a cell
// adds up its chunks, the last done of a tile adds up the cells: nobody reads more than a few
// hundred rows. A chunk has at most `piece` positions.
struct Units {
  Tiling tiling;
  int cells = 1, chunks = 1;
  uint32_t piece = 0;
};
// One wave of four blocks on each of 132 multiprocessors.
constexpr int64_t kBlocks = 4 * 132;
// Positions as they come; the cells only keep the rows to add up few.
Units flat_units(int64_t channels, int64_t positions);
Units cell_units(int64_t channels, int64_t cells, int64_t largest_cell);

// Workspace: counters, which are zero between launches whatever their shapes, then one row of
// floats for each block: [2, channels of the tile].
constexpr int kCellCounters = 2048, kTileCounters = 4096;
constexpr int64_t kCounterBytes = 4 * (kCellCounters + kTileCounters);
// For all maps with at most so many channels, whose cells are at most so many.
int64_t workspace_bytes(int64_t channels, int64_t cells);

// Throws Error when the map is beyond what the kernels' indexes hold.
void check_map(const Map& map, const char* what);
// Throws Error when positions `pitch` elements apart would overlap; 0 stands for map.channels.
void check_pitch(int64_t pitch, const Map& map, const char* what);

}  // namespace adagp::cuda::plan

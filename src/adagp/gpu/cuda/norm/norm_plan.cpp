#include "adagp/gpu/cuda/norm/norm_plan.h"

#include <algorithm>
#include <limits>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::cuda::plan {
namespace {

constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// A thread has four loads on their way at once, so less than four positions for each is a waste.
constexpr int64_t kLeastPositions = 4;
// Chunks of a flat sum that one block adds up.
constexpr int64_t kFlatChunks = 32;

// How many steps a block makes, when `cells` cells of `steps` steps are shared out among kBlocks.
int64_t steps_of_a_block(int64_t steps, int64_t cells) {
  const int64_t even = ceil_div(steps * cells, kBlocks);
  return std::max<int64_t>(1, ceil_div(even, kLeastPositions)) * kLeastPositions;
}

}  // namespace

Divider divider(int64_t divisor) {
  Divider out;
  out.divisor = static_cast<uint32_t>(divisor);
  while ((int64_t{1} << out.shift) < divisor) ++out.shift;
  const uint64_t d = out.divisor;
  out.magic =
      static_cast<uint32_t>(((uint64_t{1} << 32) * ((uint64_t{1} << out.shift) - d)) / d + 1);
  return out;
}

Tiling tiling(int64_t channels, int widest) {
  const int64_t vectors = std::max<int64_t>(1, ceil_div(channels, kLanes));
  Tiling out;
  out.channels = static_cast<int>(channels);
  out.tiles = static_cast<int>(ceil_div(vectors, widest));
  out.width = static_cast<int>(ceil_div(vectors, out.tiles));
  out.rows = kThreads / out.width;
  return out;
}

Axis whole(int64_t length) {
  Axis out;
  out.length[0] = divider(length);
  return out;
}

Axis windows(int64_t length, int size) {
  const auto begin = [&](int64_t i) { return i * length / size; };
  const auto end = [&](int64_t i) { return ceil_div((i + 1) * length, size); };
  int64_t edges[2 * kLargestSize];
  int count = 0;
  for (int64_t i = 0; i < size; ++i) edges[count++] = begin(i), edges[count++] = end(i);
  std::sort(edges, edges + count);
  count = static_cast<int>(std::unique(edges, edges + count) - edges);

  Axis out;
  out.cells = count - 1;
  for (int cell = 0; cell < out.cells; ++cell) {
    out.start[cell] = static_cast<uint32_t>(edges[cell]);
    out.length[cell] = divider(edges[cell + 1] - edges[cell]);
  }
  const auto place = [&](int64_t edge) { return std::find(edges, edges + count, edge) - edges; };
  for (int64_t i = 0; i < size; ++i) {
    out.first[i] = static_cast<uint8_t>(place(begin(i)));
    out.last[i] = static_cast<uint8_t>(place(end(i)) - 1);
  }
  return out;
}

Units flat_units(int64_t channels, int64_t positions) {
  Units out;
  out.tiling = tiling(channels, kSumWidth);
  const int64_t steps = ceil_div(positions, out.tiling.rows);
  const int64_t each = steps_of_a_block(steps, out.tiling.tiles), blocks = ceil_div(steps, each);
  out.cells = static_cast<int>(ceil_div(blocks, kFlatChunks));
  out.chunks = static_cast<int>(ceil_div(blocks, out.cells));
  out.piece = static_cast<uint32_t>(each * out.tiling.rows);
  return out;
}

Units cell_units(int64_t channels, int64_t cells, int64_t largest_cell) {
  Units out;
  out.tiling = tiling(channels, kSumWidth);
  out.cells = static_cast<int>(cells);
  const int64_t steps = ceil_div(largest_cell, out.tiling.rows);
  // At least eight steps: a second chunk costs more than the few steps that it takes over (timed
  // for summaries of 8x8).
  const int64_t each = std::max(steps_of_a_block(steps, out.tiling.tiles * cells),
                                std::min(steps, 2 * kLeastPositions));
  out.chunks = static_cast<int>(ceil_div(steps, each));
  out.piece = static_cast<uint32_t>(each * out.tiling.rows);
  return out;
}

// A cell has at most kBlocks / (tiles * cells) + 1 chunks, so there are at most kBlocks + tiles *
// cells rows. Flat units, too, have at most kBlocks + tiles blocks, and rounding adds less than one
// per cell, of which each tile has at most 1 + blocks / kFlatChunks.
int64_t workspace_bytes(int64_t channels, int64_t cells) {
  const int64_t tiles = tiling(channels, kSumWidth).tiles;
  const int64_t flat = 2 * kBlocks + 3 * tiles;
  const int64_t rows = std::max(flat, kBlocks + tiles * cells);
  return kCounterBytes + rows * 2 * kLanes * kSumWidth * 4;
}

void check_map(const Map& map, const char* what) {
  const int64_t most_channels = int64_t{kTileCounters} * kSumWidth * kLanes;
  if (map.positions() <= int64_t{1} << 30 && map.channels <= most_channels) return;
  throw Error(core::cat(what, ": map of ", map.positions(), " positions and ", map.channels,
                        " channels, at most ", int64_t{1} << 30, " and ", most_channels,
                        " are possible: use a smaller batch"));
}

void check_pitch(int64_t pitch, const Map& map, const char* what) {
  if (pitch == 0 || (pitch >= map.channels && pitch <= std::numeric_limits<int32_t>::max())) return;
  throw Error(core::cat(what, ": positions ", pitch, " elements apart, expected from ",
                        map.channels, " (the channels) to ", std::numeric_limits<int32_t>::max()));
}

}  // namespace adagp::cuda::plan

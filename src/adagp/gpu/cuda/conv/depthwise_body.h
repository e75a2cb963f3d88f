#pragma once
// What a thread of the depthwise kernels does. No CUDA in here beyond macros: tests run it on a
// CPU, thread by thread.

#include <cmath>

#include "adagp/gpu/cuda/both_sides.h"
#include "adagp/gpu/cuda/conv/depthwise_plan.h"
#include "adagp/gpu/cuda/conv/eight_channels.h"

namespace adagp::cuda::depthwise {

using namespace eight;  // what a thread holds

constexpr int kSide = 3, kHalf = 1;  // of a filter; its middle

template <typename T>
constexpr Type kTypeOf = sizeof(T) == 4 ? Type::kFloat : Type::kBFloat16;
template <typename T>
constexpr int kColumns = columns_of(kTypeOf<T>);

// Eight floats of shared memory, read each time: kept in registers over all tiles, the weights of
// nine taps would leave too few for the rest.
ADAGP_ON_BOTH_SIDES inline Eight<float> read_again(const float* from) {
#ifdef __CUDA_ARCH__
  Eight<float> out;
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(from));
  asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(out.word[0]), "=r"(out.word[1]), "=r"(out.word[2]), "=r"(out.word[3])
               : "r"(address));
  asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(out.word[4]), "=r"(out.word[5]), "=r"(out.word[6]), "=r"(out.word[7])
               : "r"(address + 16));
  return out;
#else
  return load(from);
#endif
}

// A map's memory with its sides; positions outside are zeros.
template <typename T>
struct Field {
  const T* data;
  int height, width, channels;
  ADAGP_ON_BOTH_SIDES Eight<T> at(int image, int row, int column, int channel) const {
    if (row < 0 || row >= height || column < 0 || column >= width) return Eight<T>{};
    const int64_t position = (static_cast<int64_t>(image) * height + row) * width + column;
    return load(data + position * channels + channel);
  }
};

// A thread's place in its block.
struct Place {
  int row, vector, channel;
  bool works;
};
ADAGP_ON_BOTH_SIDES inline Place place_of(const Lanes& lanes, int part, int thread) {
  Place out{};
  out.row = thread / lanes.width;
  out.vector = thread % lanes.width;
  out.channel = (part * lanes.width + out.vector) * kLanes;
  out.works = out.row < lanes.rows && out.channel < lanes.channels;
  return out;
}

// The upper left position of a tile.
struct Corner {
  int image, row, column;
};
template <int kTileRows, int kTileColumns>
ADAGP_ON_BOTH_SIDES Corner corner_of(const Tiles& tiles, uint32_t tile) {
  const uint32_t line = plan::quotient(tile, tiles.columns),
                 image = plan::quotient(line, tiles.rows);
  return {static_cast<int>(image), static_cast<int>(line - image * tiles.rows.divisor) * kTileRows,
          static_cast<int>(tile - line * tiles.columns.divisor) * kTileColumns};
}

// The tiles of a block: neighbours, so that what they share is still in the first-level cache.
struct Range {
  uint32_t begin, end;
};
ADAGP_ON_BOTH_SIDES inline Range range_of(const Tiles& tiles, uint32_t block) {
  const uint32_t begin = block * tiles.piece, end = begin + tiles.piece;
  return {begin, end < tiles.count ? end : tiles.count};
}

// Along one side: a tile of `length` positions that begins at `start`, a multiple of the stride,
// gathers from count() positions from first() on. tap(i, j): by which of the filter's weights the
// tile's i-th gathers from the j-th of them; by none when it is not in 0 .. 2.
template <Pass kPass, int kStride>
struct Reach;
template <int kStride>
struct Reach<Pass::kForward, kStride> {
  ADAGP_ON_BOTH_SIDES static constexpr int first(int start) { return start * kStride - kHalf; }
  ADAGP_ON_BOTH_SIDES static constexpr int count(int length) {
    return (length - 1) * kStride + kSide;
  }
  ADAGP_ON_BOTH_SIDES static constexpr int tap(int i, int j) { return j - i * kStride; }
};
// The other way round: x[p] went to y[q] by tap t = p + 1 - stride * q.
template <int kStride>
struct Reach<Pass::kInputGradient, kStride> {
  ADAGP_ON_BOTH_SIDES static constexpr int first(int start) {
    return start / kStride - kHalf / kStride;
  }
  ADAGP_ON_BOTH_SIDES static constexpr int count(int length) {
    return (length - 1 + kHalf) / kStride + kHalf / kStride + 1;
  }
  ADAGP_ON_BOTH_SIDES static constexpr int tap(int i, int j) {
    return i + kHalf - kStride * (j - kHalf / kStride);
  }
};

// The block's weights as floats in shared memory, [kTaps, channels of the block]: a thread's share.
template <typename T>
ADAGP_ON_BOTH_SIDES void share_weights(const Gather& g, int part, int thread, float* shared) {
  const int width = g.lanes.width * kLanes, first = part * width;
  const T* weight = static_cast<const T*>(g.weight);
  for (int i = thread; i < kTaps * width; i += Gather::kThreads) {
    const int channel = i / kTaps, tap = i - channel * kTaps;
    if (first + channel >= g.lanes.channels) return;
    shared[tap * width + channel] = number(weight[static_cast<int64_t>(first) * kTaps + i]);
  }
}

// One tile of the output. `shared`: share_weights() of all threads.
template <typename T, Pass kPass, int kStride>
ADAGP_ON_BOTH_SIDES void gather_tile(const Gather& g, uint32_t tile, const Place& place,
                                     const float* shared) {
  using Along = Reach<kPass, kStride>;
  constexpr int kHigh = rows_of(kPass, kStride), kWide = kColumns<T>;
  constexpr int kFromRows = Along::count(kHigh), kFromColumns = Along::count(kWide);
  const Field<T> from{static_cast<const T*>(g.from), g.from_height, g.from_width, g.lanes.channels};
  const Corner corner = corner_of<kHigh, kWide>(g.tiles, tile);
  const int block_channels = g.lanes.width * kLanes;
  float sum[kHigh][kWide][kLanes] = {};
  ADAGP_UNROLL
  for (int r = 0; r < kFromRows; ++r) {
    Eight<T> line[kFromColumns];
    ADAGP_UNROLL
    for (int c = 0; c < kFromColumns; ++c) {
      line[c] = from.at(corner.image, Along::first(corner.row) + r, Along::first(corner.column) + c,
                        place.channel);
    }
    ADAGP_UNROLL
    for (int i = 0; i < kHigh; ++i) {
      const int down = Along::tap(i, r);
      if (down < 0 || down >= kSide) continue;
      ADAGP_UNROLL
      for (int across = 0; across < kSide; ++across) {
        const float* weight =
            shared + (down * kSide + across) * block_channels + place.vector * kLanes;
        const Eight<float> w = read_again(weight);
        ADAGP_UNROLL
        for (int t = 0; t < kWide; ++t) {
          ADAGP_UNROLL
          for (int c = 0; c < kFromColumns; ++c) {
            if (Along::tap(t, c) != across) continue;
            ADAGP_UNROLL
            for (int k = 0; k < kLanes; ++k) {
              sum[i][t][k] = fmaf(element(line[c], k), element(w, k), sum[i][t][k]);
            }
          }
        }
      }
    }
  }
  T* to = static_cast<T*>(g.to) + place.channel;
  ADAGP_UNROLL
  for (int i = 0; i < kHigh; ++i) {
    const int row = corner.row + i;
    if (row >= g.tiles.height) continue;
    ADAGP_UNROLL
    for (int t = 0; t < kWide; ++t) {
      const int column = corner.column + t;
      if (column >= g.tiles.width) continue;
      const int64_t position =
          (static_cast<int64_t>(corner.image) * g.tiles.height + row) * g.tiles.width + column;
      Eight<T> made;
      pack(sum[i][t], made);
      store(to + position * g.lanes.channels, made);
    }
  }
}

// All tiles of a thread.
template <typename T, Pass kPass, int kStride>
ADAGP_ON_BOTH_SIDES void gather_tiles(const Gather& g, uint32_t block, const Place& place,
                                      const float* shared) {
  const Range tiles = range_of(g.tiles, block);
  for (uint32_t tile = tiles.begin + place.row; tile < tiles.end; tile += g.lanes.rows) {
    gather_tile<T, kPass, kStride>(g, tile, place, shared);
  }
}

// Adds what one tile of dy gives to the nine weights of a thread's channels.
template <typename T, int kStride>
ADAGP_ON_BOTH_SIDES void add_tile(const Reduce& g, uint32_t tile, const Place& place,
                                  float (&sums)[kTaps][kLanes]) {
  using Along = Reach<Pass::kForward, kStride>;
  constexpr int kHigh = rows_of(Pass::kForward, kStride), kWide = kColumns<T>;
  static_assert(kHigh == 1, "row r of the neighbourhood belongs to the filter's row r");
  constexpr int kFromColumns = Along::count(kWide);
  const Field<T> x{static_cast<const T*>(g.x), g.x_height, g.x_width, g.lanes.channels};
  const Field<T> dy{static_cast<const T*>(g.dy), g.tiles.height, g.tiles.width, g.lanes.channels};
  const Corner corner = corner_of<kHigh, kWide>(g.tiles, tile);
  Eight<T> gradient[kWide];
  ADAGP_UNROLL
  for (int t = 0; t < kWide; ++t) {
    gradient[t] = dy.at(corner.image, corner.row, corner.column + t, place.channel);
  }
  ADAGP_UNROLL
  for (int r = 0; r < kSide; ++r) {
    Eight<T> line[kFromColumns];
    ADAGP_UNROLL
    for (int c = 0; c < kFromColumns; ++c) {
      line[c] = x.at(corner.image, Along::first(corner.row) + r, Along::first(corner.column) + c,
                     place.channel);
    }
    ADAGP_UNROLL
    for (int t = 0; t < kWide; ++t) {
      ADAGP_UNROLL
      for (int c = 0; c < kFromColumns; ++c) {
        const int across = Along::tap(t, c);
        if (across < 0 || across >= kSide) continue;
        ADAGP_UNROLL
        for (int k = 0; k < kLanes; ++k) {
          float& total = sums[r * kSide + across][k];
          total = fmaf(element(gradient[t], k), element(line[c], k), total);
        }
      }
    }
  }
}

// A thread's sums over its tiles of the block's chunk.
template <typename T, int kStride>
ADAGP_ON_BOTH_SIDES void add_chunk(const Reduce& g, uint32_t chunk, const Place& place,
                                   float (&sums)[kTaps][kLanes]) {
  const Range tiles = range_of(g.tiles, chunk);
  for (uint32_t tile = tiles.begin + place.row; tile < tiles.end; tile += g.lanes.rows) {
    add_tile<T, kStride>(g, tile, place, sums);
  }
}

// The sums of one tap go through shared memory, [kLanes, Reduce::kStride]; then each of the first
// kLanes * width threads adds up a channel's, over the block's rows, to the chunk's row.
ADAGP_ON_BOTH_SIDES inline void share_sums(int thread, const float (&sum)[kLanes], float* shared) {
  ADAGP_UNROLL
  for (int k = 0; k < kLanes; ++k) shared[k * Reduce::kStride + thread] = sum[k];
}
ADAGP_ON_BOTH_SIDES inline void add_shared(const Reduce& g, int part, int chunk, int tap,
                                           int thread, const float* shared) {
  if (thread >= kLanes * g.lanes.width) return;
  const int k = thread / g.lanes.width, vector = thread % g.lanes.width;
  const int channel = (part * g.lanes.width + vector) * kLanes + k;
  if (channel >= g.lanes.channels) return;
  float total = 0;
  for (int row = 0; row < g.lanes.rows; ++row) {
    total += shared[k * Reduce::kStride + row * g.lanes.width + vector];
  }
  g.sums[(static_cast<int64_t>(chunk) * kTaps + tap) * g.lanes.channels + channel] = total;
}

// The second round, of kColumns x kGroups threads: each group adds up every kGroups-th chunk.
ADAGP_ON_BOTH_SIDES inline void add_chunks(const Reduce& g, int block, int thread, float* shared) {
  const int column = block * Reduce::kColumns + thread % Reduce::kColumns;
  const int all = kTaps * g.lanes.channels;
  float total = 0;
  if (column < all) {
    ADAGP_UNROLL
    for (int chunk = thread / Reduce::kColumns; chunk < g.chunks; chunk += Reduce::kGroups) {
      total += g.sums[static_cast<int64_t>(chunk) * all + column];
    }
  }
  shared[thread] = total;
}
template <typename T>
ADAGP_ON_BOTH_SIDES void add_groups(const Reduce& g, int block, int thread, const float* shared) {
  const int column = block * Reduce::kColumns + thread;
  if (thread >= Reduce::kColumns || column >= kTaps * g.lanes.channels) return;
  float total = 0;
  for (int group = 0; group < Reduce::kGroups; ++group) {
    total += shared[group * Reduce::kColumns + thread];
  }
  const int tap = column / g.lanes.channels, channel = column % g.lanes.channels;
  put(total, static_cast<T*>(g.dweight)[static_cast<int64_t>(channel) * kTaps + tap]);
}

}  // namespace adagp::cuda::depthwise

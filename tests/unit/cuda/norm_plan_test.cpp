#include "adagp/gpu/cuda/norm/norm_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "adagp/base/core/error.h"

namespace adagp::cuda::plan {
namespace {

TEST(NormPlan, DividerEqualsDivision) {
  for (const uint32_t d : {1U, 2U, 3U, 5U, 7U, 8U, 14U, 28U, 100U, 112U, 641U, 65535U, 1U << 30}) {
    const Divider by = divider(d);
    const auto check = [&](uint64_t n) {
      const uint32_t high = static_cast<uint32_t>((n * by.magic) >> 32);
      ASSERT_EQ((high + static_cast<uint32_t>(n)) >> by.shift, n / d) << n << " / " << d;
    };
    for (uint64_t n = 0; n < 5000; ++n) check(n);
    for (uint64_t n = d; n < (1U << 31); n += (1U << 31) / 997) check(n), check(n / d * d - 1);
    check((1U << 31) - 1);
  }
}

// Cells lie side by side, and every window of adaptive pooling is a run of whole cells.
TEST(NormPlan, WindowsAreRunsOfCells) {
  for (const int size : {1, 2, 3, 8, 16}) {
    for (int64_t n = 1; n < 300; ++n) {
      const Axis axis = windows(n, size);
      ASSERT_LE(axis.cells, std::min<int64_t>(n, 2 * size - 1));
      uint32_t at = 0;
      for (int cell = 0; cell < axis.cells; ++cell) {
        ASSERT_EQ(axis.start[cell], at);
        ASSERT_GT(axis.length[cell].divisor, 0U);
        at += axis.length[cell].divisor;
      }
      ASSERT_EQ(at, n);
      for (int64_t i = 0; i < size; ++i) {
        const int last = axis.last[i];
        ASSERT_EQ(axis.start[axis.first[i]], i * n / size);
        ASSERT_EQ(axis.start[last] + axis.length[last].divisor, ((i + 1) * n + size - 1) / size);
      }
    }
  }
}

TEST(NormPlan, SidesThatDivideMakeAsManyCells) {
  for (const int64_t n : {8, 16, 32, 56, 112, 224}) EXPECT_EQ(windows(n, 8).cells, 8) << n;
}

// All positions are in some chunk, and the rows and counters fit whatever the caller's `largest`
// is.
void expect_fits(const Units& units, int64_t positions, int64_t parts, int64_t workspace) {
  const int64_t blocks = int64_t{units.tiling.tiles} * units.cells * units.chunks;
  EXPECT_GE(parts * units.piece, positions);
  EXPECT_LT(parts * units.piece, int64_t{1} << 32);
  const int64_t row_floats = int64_t{2} * kLanes * units.tiling.width;
  EXPECT_LE(kCounterBytes + blocks * row_floats * 4, workspace);
  EXPECT_LE(units.tiling.tiles, kTileCounters);
  if (units.chunks > 1) {
    EXPECT_LE(units.tiling.tiles * units.cells, kCellCounters);
  }
  EXPECT_LE(units.chunks, 65535);
  EXPECT_LE(units.cells, 65535);
}

TEST(NormPlan, RowsAndCountersFit) {
  for (const int64_t channels : {1, 3, 8, 10, 24, 64, 100, 512, 2048, 16384, 262144}) {
    for (const int64_t positions : {1, 2, 100, 4096, 50176, 262144, 12845056, 1 << 30}) {
      SCOPED_TRACE(testing::Message() << channels << " channels, " << positions);
      const Units flat = flat_units(channels, positions);
      expect_fits(flat, positions, int64_t{flat.cells} * flat.chunks, workspace_bytes(channels, 1));
      for (const int64_t cells : {1, 2, 4, 49, 64, 144, 225, 961}) {
        const int64_t largest = (positions + cells - 1) / cells;
        const Units units = cell_units(channels, cells, largest);
        expect_fits(units, largest, units.chunks, workspace_bytes(channels, cells));
        // A caller who sized the workspace for more channels or cells is safe, too.
        expect_fits(units, largest, units.chunks, workspace_bytes(channels + 100, cells + 7));
      }
    }
  }
}

TEST(NormPlan, TilesHoldAllChannels) {
  for (const int widest : {kSumWidth, kMapWidth}) {
    for (int64_t channels = 1; channels < 5000; channels += 7) {
      const Tiling t = tiling(channels, widest);
      ASSERT_GE(int64_t{t.tiles} * t.width * kLanes, channels);
      ASSERT_LT(int64_t{t.tiles - 1} * t.width * kLanes, channels);
      ASSERT_LE(t.width, widest);
      ASSERT_GE(t.rows, 1);
      ASSERT_LE(t.rows * t.width, kThreads);
    }
  }
}

// The last block reads few rows, and big maps give most of the blocks that were aimed at (less,
// because a block makes a multiple of four steps, or all of a short cell).
TEST(NormPlan, WorkIsSharedOut) {
  struct Case {
    int64_t channels, batch, side, least_blocks;
  };
  constexpr int64_t kMost = kBlocks / 2;
  for (const Case& c : std::initializer_list<Case>{{64, 256, 32, kMost},
                                                   {256, 256, 32, kMost},
                                                   {2048, 256, 7, kMost},
                                                   {64, 256, 112, kMost},
                                                   {512, 256, 28, kMost},
                                                   {512, 256, 2, 32},
                                                   {10, 256, 1, 1}}) {
    const Axis axis = windows(c.side, 8);
    int64_t longest = 0;
    for (int i = 0; i < axis.cells; ++i) {
      longest = std::max<int64_t>(longest, axis.length[i].divisor);
    }
    const Units units =
        cell_units(c.channels, int64_t{axis.cells} * axis.cells, c.batch * longest * longest);
    EXPECT_GE(int64_t{units.tiling.tiles} * units.cells * units.chunks, c.least_blocks) << c.side;
    EXPECT_LE(units.cells + units.chunks, 512) << c.side;
    const Units flat = flat_units(c.channels, c.batch * c.side * c.side);
    EXPECT_LE(flat.cells + flat.chunks, 128) << c.side;
  }
}

// 64 channels: 32 positions a step.
TEST(NormPlan, ShortCellsHaveOneChunk) {
  for (const int64_t steps : {1, 5, 8}) {
    for (const int64_t cells : {1, 4, 64}) {
      EXPECT_EQ(cell_units(64, cells, 32 * steps).chunks, 1) << steps << " steps, " << cells;
    }
  }
  EXPECT_EQ(cell_units(64, 4, 32 * 9).chunks, 2);
  EXPECT_EQ(cell_units(64, 4, 32 * 9).piece, 32 * 8U);
  EXPECT_EQ(cell_units(512, 4, 256).chunks, 1);  // 2x2 maps of VGG, batch 256
}

TEST(NormPlan, RefusesWhatTheIndexesCannotHold) {
  EXPECT_NO_THROW(check_map({256, 224, 224, 64}, "test"));
  EXPECT_THROW(check_map({int64_t{1} << 20, 224, 224, 64}, "test"), Error);
  EXPECT_THROW(check_map({1, 1, 1, int64_t{1} << 24}, "test"), Error);
}

}  // namespace
}  // namespace adagp::cuda::plan

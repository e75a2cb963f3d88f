// FAST: a machine of 2-bit chunks gives integer dot products in the counted passes.

#include "adagp/sim/arrays/fast.h"

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"
#include "adagp/sim/arrays/block_array.h"
#include "adagp/sim/arrays/law.h"
#include "adagp/sim/arrays/machine.h"
#include "unit/arrays/made_traces.h"

namespace adagp::arrays {
namespace {

// One cell: 16 pairs of signed 2-bit chunks a cycle, shifted into one sum.
struct ChunkCell {
  int64_t sum = 0, passes = 0;

  void dot(const std::vector<int>& a, int chunks_a, const std::vector<int>& b, int chunks_b) {
    const auto chunk = [](int value, int index) {
      const int part = std::abs(value) >> (2 * index) & 3;
      return value < 0 ? -part : part;
    };
    for (int i = 0; i < chunks_a; ++i) {
      for (int j = 0; j < chunks_b; ++j, ++passes) {
        int64_t partial = 0;
        for (size_t k = 0; k < a.size(); ++k) partial += chunk(a[k], i) * chunk(b[k], j);
        sum += partial * (1 << 2 * (i + j));
      }
    }
  }
};

TEST(FastCell, ChunksMakeTheIntegerDotProductInTheCountedPasses) {
  core::Rng random(1);
  for (const int left : {2, 3, 4, 6, 8}) {
    for (const int right : {2, 3, 4, 8}) {
      for (int trial = 0; trial < 20; ++trial) {
        // A reduction over K values in groups of 16, the last one padded with zeros.
        const int64_t k = 1 + random.below(70);
        int64_t expected = 0;
        ChunkCell cell;
        for (int64_t first = 0; first < k; first += 16) {
          std::vector<int> a(16, 0), b(16, 0);
          for (int64_t i = first; i < std::min(k, first + 16); ++i) {
            const auto at = static_cast<size_t>(i - first);
            a[at] = static_cast<int>(random.below(2 << left) - (1 << left));
            b[at] = static_cast<int>(random.below(2 << right) - (1 << right));
            a[at] = std::clamp(a[at], -(1 << left) + 1, (1 << left) - 1);
            b[at] = std::clamp(b[at], -(1 << right) + 1, (1 << right) - 1);
            expected += a[at] * b[at];
          }
          cell.dot(a, static_cast<int>(chunks_of(left)), b, static_cast<int>(chunks_of(right)));
        }
        EXPECT_EQ(cell.sum, expected);
        // One output on one cell: the passes are what the array's cells work for it.
        const BlockCost cost =
            block_array_cost(accel::gemm_work({1, k, 1}), {1, 1},
                             {kFastGroup, chunks_of(left), chunks_of(right), true});
        EXPECT_EQ(cost.cell_cycles, cell.passes);
      }
    }
  }
}

TEST(Fast, CyclesByHand) {
  // M = 10, K = 100 (7 groups of 16), N = 5 on 2 x 3 cells; W 2 bits, X 4 bits.
  accel::Array array;
  array.rows = 2;
  array.columns = 3;
  const BlockFormat format{16, 2, 1, true};
  const auto cycles = [&](const accel::Gemm& gemm, accel::Pass pass, const BlockFormat& f) {
    return block_array_cost(accel::gemm_work(gemm, pass), array, f).array.cycles;
  };
  EXPECT_EQ(cycles({10, 100, 5}, accel::Pass::kForward, format), 3 * 3 * (10 * 2 + 4 + 3 - 2));
  EXPECT_EQ(cycles({10, 5, 100}, accel::Pass::kInputGradient, format),
            50 * 1 * (10 * 2 + 4 + 3 - 2));
  const BlockFormat kept{16, 2, 1, false};
  EXPECT_EQ(cycles({10, 5, 100}, accel::Pass::kInputGradient, kept), 3 * 3 * (10 * 2 + 2 + 3 - 2));
  EXPECT_EQ(cycles({100, 10, 5}, accel::Pass::kWeightGradient, {16, 2, 2, true}),
            3 * 34 * (1 * 2 * 2 + 2 + 3 - 2));
  // Two chunks of the stationary operand: everything twice.
  EXPECT_EQ(cycles({10, 100, 5}, accel::Pass::kForward, {16, 2, 2, true}),
            2 * 3 * 3 * (10 * 2 + 4 + 3 - 2));
}

// Where streams are long the step costs (m_W m_A + m_W m_G + m_A m_G) / 48 of one at 4 bits.
TEST(Fast, LongStreamsCostTheProductsOfTheWidths) {
  const layers::Row row = test::conv_row({256, 256, 64, 64, 3, 1, 1, 1, 1});
  accel::Accelerator a;
  a.array.rows = a.array.columns = 4;
  const accel::Work forward = accel::forward_work(row, 16);
  const accel::Work works[] = {forward, accel::input_gradient_work(forward, row),
                               accel::weight_gradient_work(forward, row)};
  for (const auto& [w, x, g] : {std::array<int, 3>{2, 2, 2}, {2, 2, 4}, {4, 2, 4}, {4, 4, 4}}) {
    double with = 0, without = 0;
    for (const accel::Work& work : works) {
      accel::Operands operands;
      operands.left.mantissa = work.pass == accel::Pass::kInputGradient ? g : x;
      operands.right.mantissa = work.pass == accel::Pass::kWeightGradient ? g : w;
      with += static_cast<double>(kFast.cost({row, work, 16}, operands, a).array);
      without += static_cast<double>(kFast.dense({row, work, 16}, operands, a).array);
    }
    EXPECT_NEAR(with / without, (w * x + w * g + x * g) / 48.0, 0.002);
  }
}

// bf16 MACs in the area of 8x4 cells: with long streams 16 values a cell and cycle, divided by the
// chunks.
TEST(Fast, EqualAreaIsAnArrayOfPlainMacs) {
  accel::Accelerator a;
  a.array.rows = 8;
  a.array.columns = 4;
  const layers::Row row = test::linear_row(320, 16);
  const accel::Work work = accel::forward_work(row, 1000);
  const auto cycles = [&](double mac_area) {
    a.fast.mac_area = mac_area;
    return kFast.equal_area({row, work, 1000}, {}, a).array;
  };
  // ceil(N/H) * ceil(K/W) * (M + 2H + W - 2)
  EXPECT_EQ(cycles(1), 2 * 80 * (1000 + 16 + 4 - 2));
  EXPECT_EQ(cycles(2), 2 * 160 * (1000 + 16 + 2 - 2));
  EXPECT_EQ(cycles(0.5), 2 * 40 * (1000 + 16 + 8 - 2));
  EXPECT_EQ(cycles(100), 2 * 320 * (1000 + 16 + 1 - 2));  // at least one column
}

TEST(Fast, StoredBitsAndWidthsThatAreNotModelled) {
  const accel::FastFormat format;
  EXPECT_NEAR(stored_bits(2, format), 3.19, 0.005);
  EXPECT_NEAR(stored_bits(4, format), 6.19, 0.005);
  EXPECT_THROW(chunks_of(1), DataError);
  EXPECT_THROW(chunks_of(9), DataError);
}

TEST(Law, TheTableOfMachines) {
  struct Row {
    RelativePasses c;
    double none, small, large;
  };
  // alpha = 0, 0.03, 0.1 at f = 0.4763.
  const Row rows[] = {{{1, 1, 1}, 1.465, 1.423, 1.332},
                      {{1 / 1.6, 1, 1 / 1.6}, 1.524, 1.463, 1.339},
                      {{1 / 1.6, 1 / 1.6, 1 / 1.6}, 1.465, 1.398, 1.263},
                      {{0.25, 0.5, 0.5}, 1.616, 1.497, 1.278},
                      {{0.1, 0.1, 0.5}, 1.690, 1.472, 1.131}};
  for (const Row& row : rows) {
    EXPECT_NEAR(combined_speedup(row.c, 0, 0.4763), row.none, 0.0011);
    EXPECT_NEAR(combined_speedup(row.c, 0.03, 0.4763), row.small, 0.0011);
    EXPECT_NEAR(combined_speedup(row.c, 0.1, 0.4763), row.large, 0.0011);
  }
}

}  // namespace
}  // namespace adagp::arrays

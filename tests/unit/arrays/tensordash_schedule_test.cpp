// TensorDash's scheduler: cases by hand, published reference values, bounds, and a second machine.

#include "adagp/sim/arrays/tensordash_schedule.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "adagp/base/core/rng.h"
#include "adagp/sim/arrays/tensordash_streams.h"
#include "unit/arrays/tensordash_machine.h"

namespace adagp::arrays {
namespace {

using Stream = std::vector<uint16_t>;

int64_t cycles_of(const std::vector<Stream>& rows, Order order) {
  const auto lines = static_cast<int64_t>(rows[0].size());
  std::vector<uint16_t> buffer;
  for (const Stream& row : rows) {
    buffer.insert(buffer.end(), row.begin(), row.end());
    buffer.insert(buffer.end(), {0, 0});
  }
  return scheduled_cycles(buffer, static_cast<int64_t>(rows.size()), lines, order);
}

Stream drawn(core::Rng& random, int64_t lines, double density) {
  Stream out(static_cast<size_t>(lines), 0);
  for (uint16_t& line : out) {
    for (int lane = 0; lane < 16; ++lane) {
      if (random.uniform() < density) line |= static_cast<uint16_t>(1 << lane);
    }
  }
  return out;
}

TEST(TensorDashSchedule, CasesCountedByHand) {
  struct Case {
    const char* what;
    Stream stream;
    int64_t paper, sorted;
  };
  Stream turns, checkers, fourth_lines;
  for (int t = 0; t < 12; ++t) {
    turns.push_back(t % 2 == 0 ? 0xFFFF : 0);
    checkers.push_back(t % 2 == 0 ? 0x5555 : 0xAAAA);
    fourth_lines.push_back(t % 4 == 0 ? 0xFFFF : 0);
  }
  const Case cases[] = {
      {"dense", Stream(9, 0xFFFF), 9, 9},       {"empty", Stream(9, 0), 3, 3},
      {"only lane 0", Stream(9, 0x0001), 3, 3}, {"lanes 0-7", Stream(12, 0x00FF), 11, 9},
      {"even lanes", Stream(12, 0x5555), 6, 6}, {"full and empty in turn", turns, 6, 6},
      {"checkerboard", checkers, 6, 6},         {"every 4th lane", Stream(12, 0x1111), 4, 4},
      {"every 4th line", fourth_lines, 4, 4}};
  for (const Case& one : cases) {
    EXPECT_EQ(cycles_of({one.stream}, Order::kPaper), one.paper) << one.what;
    EXPECT_EQ(cycles_of({one.stream}, Order::kSorted), one.sorted) << one.what;
  }
}

// Standard deviation of the speed-up of one tile of 400 lines.
double spread_of_a_stream(int64_t rows, Order order, double density) {
  core::Rng random(23);
  constexpr int kDraws = 30;
  double sum = 0, squares = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<Stream> streams;
    for (int64_t row = 0; row < rows; ++row) streams.push_back(drawn(random, 400, density));
    const double speedup = 400.0 / static_cast<double>(cycles_of(streams, order));
    sum += speedup;
    squares += speedup * speedup;
  }
  return std::sqrt(std::max(0.0, squares / kDraws - sum * sum / kDraws / kDraws));
}

// Computed before by an independent script: independent zeros, 400 lines, a mean of at least three
// draws. So 0.02 and one standard error of such a mean apart.
constexpr double kReferenceDraws = 3;
TEST(TensorDashSchedule, ReferenceTable) {
  struct Row {
    int64_t rows;
    const char* order;
    std::vector<double> speedups;
  };
  const double zeros[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95};
  const Row table[] = {
      {1, "paper", {1.095, 1.216, 1.348, 1.518, 1.728, 1.988, 2.335, 2.746, 2.985, 2.989}},
      {1, "sorted", {1.109, 1.245, 1.403, 1.598, 1.810, 2.041, 2.346, 2.730, 2.978, 2.993}},
      {4, "paper", {1.083, 1.182, 1.297, 1.424, 1.589, 1.799, 2.034, 2.432, 2.945, 2.989}},
      {4, "sorted", {1.102, 1.220, 1.357, 1.511, 1.695, 1.908, 2.107, 2.472, 2.927, 2.981}},
      {16, "paper", {1.072, 1.157, 1.255, 1.371, 1.511, 1.676, 1.929, 2.124, 2.791, 2.978}}};
  for (const Row& row : table) {
    for (size_t i = 0; i < std::size(zeros); ++i) {
      accel::TensorDashSizes sizes;
      sizes.rows = row.rows;
      sizes.order = row.order;
      const double speedup = 1 / drawn_cycles_per_line(400, 1 - zeros[i], sizes);
      const double error = spread_of_a_stream(row.rows, parse_order(row.order), 1 - zeros[i]) /
                           std::sqrt(kReferenceDraws);
      EXPECT_NEAR(speedup, row.speedups[i], 0.02 + error)
          << row.rows << " rows, " << row.order << ", zeros " << zeros[i] << ", error " << error;
    }
  }
}

TEST(TensorDashSchedule, EqualsAMachineOfBuffersAndEncoders) {
  core::Rng random(7);
  for (int trial = 0; trial < 400; ++trial) {
    const Order order = trial % 2 == 0 ? Order::kPaper : Order::kSorted;
    const int64_t lines = 1 + random.below(40), rows = 1 + random.below(5);
    const double density = random.uniform();
    std::vector<Stream> bits;
    std::vector<test::PeRow> tile;
    std::vector<int64_t> products;
    std::vector<size_t> pairs;
    for (int64_t row = 0; row < rows; ++row) {
      // Both sides have zeros; a pair counts where neither is zero.
      const Stream a = drawn(random, lines, std::sqrt(density));
      const Stream b = drawn(random, lines, std::sqrt(density));
      Stream both(a.size());
      std::vector<test::Line> values(a.size());
      int64_t product = 0, count = 0;
      for (size_t t = 0; t < a.size(); ++t) {
        both[t] = a[t] & b[t];
        for (int lane = 0; lane < 16; ++lane) {
          test::Pair& pair = values[t][static_cast<size_t>(lane)];
          pair.a = (a[t] >> lane & 1) != 0 ? 1 + random.below(100) : 0;
          pair.b = (b[t] >> lane & 1) != 0 ? 1 + random.below(100) : 0;
          pair.id = static_cast<int64_t>(t) * 16 + lane;
          product += pair.a * pair.b;
          count += pair.a * pair.b != 0 ? 1 : 0;
        }
      }
      bits.push_back(both);
      products.push_back(product);
      pairs.push_back(static_cast<size_t>(count));
      tile.emplace_back(values, test::movements(order));
    }
    EXPECT_EQ(test::run_tile(tile, lines), cycles_of(bits, order)) << "trial " << trial;
    for (size_t row = 0; row < tile.size(); ++row) {
      EXPECT_EQ(tile[row].sum, products[row]);
      EXPECT_EQ(tile[row].used.size(), pairs[row]);  // each pair once, none lost
      EXPECT_FALSE(tile[row].clash);
    }
  }
}

TEST(TensorDashSchedule, StaysWithinItsBounds) {
  core::Rng random(11);
  for (int trial = 0; trial < 2000; ++trial) {
    const int64_t lines = 1 + random.below(60), rows = 1 + random.below(4);
    std::vector<Stream> streams;
    int64_t most = 0;
    for (int64_t row = 0; row < rows; ++row) {
      streams.push_back(drawn(random, lines, random.uniform()));
      int64_t count = 0;
      for (const uint16_t line : streams.back()) count += std::popcount(line);
      most = std::max(most, (count + 15) / 16);
    }
    for (const Order order : {Order::kPaper, Order::kSorted}) {
      const int64_t cycles = cycles_of(streams, order);
      EXPECT_GE(cycles, lines / 3);
      EXPECT_GE(cycles, most);
      EXPECT_LE(cycles, lines);
    }
  }
}

// A better scheduler: in each cycle a maximum matching of lanes to pairs of the window, those of
// the nearest line first.
class Matcher {
 public:
  explicit Matcher(std::span<const test::Movement> moves) : moves_(moves) {}

  int64_t cycles(Stream stream) {
    stream.insert(stream.end(), {0, 0});
    const auto lines = static_cast<int64_t>(stream.size()) - 2;
    int64_t count = 0;
    for (int64_t t = 0, skipped = 0; t < lines; ++t) {
      uint16_t* const window = stream.data() + t;
      if (skipped < 2 && window[0] == 0) {
        ++skipped;
        continue;
      }
      skipped = 0;
      ++count;
      pair_of_.fill(-1);
      busy_ = window[0];
      for (int place = 16; place < 48; ++place) {
        tried_ = 0;
        if ((window[place / 16] >> place % 16 & 1) != 0) place_pair(place);
      }
      for (const int place : pair_of_) {
        if (place >= 0) window[place / 16] &= static_cast<uint16_t>(~(1 << place % 16));
      }
    }
    return count;
  }

 private:
  bool place_pair(int place) {
    for (const test::Movement& move : moves_) {
      if (move.step != place / 16) continue;
      const int lane = (place % 16 - move.lane + 16) % 16;
      if ((busy_ >> lane & 1) != 0 || (tried_ >> lane & 1) != 0) continue;
      tried_ |= 1 << lane;
      int& holder = pair_of_[static_cast<size_t>(lane)];
      if (holder < 0 || place_pair(holder)) {
        holder = place;
        return true;
      }
    }
    return false;
  }

  std::span<const test::Movement> moves_;
  std::array<int, 16> pair_of_{};
  unsigned busy_ = 0, tried_ = 0;
};

TEST(TensorDashSchedule, IsNotBetterThanMatching) {
  core::Rng random(5);
  const double zeros[] = {0.3, 0.5, 0.7, 0.8};
  // One row, by an independent script, to the spread of one draw.
  const double matched[] = {1.42, 1.98, 2.62, 2.91};
  for (size_t i = 0; i < std::size(zeros); ++i) {
    int64_t greedy = 0, best = 0;
    for (int draw = 0; draw < 20; ++draw) {
      const Stream stream = drawn(random, 400, 1 - zeros[i]);
      greedy += cycles_of({stream}, Order::kPaper);
      best += Matcher(test::movements(Order::kPaper)).cycles(stream);
    }
    EXPECT_LE(best, greedy);
    EXPECT_NEAR(20 * 400.0 / static_cast<double>(best), matched[i], 0.05);
  }
}

}  // namespace
}  // namespace adagp::arrays

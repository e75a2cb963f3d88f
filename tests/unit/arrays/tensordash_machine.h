#pragma once
// TensorDash's PE row built from its parts: a staging buffer of three lines on both operand sides,
// vectors of zero bits, a priority encoder for each lane of a level, multipliers, an accumulator
// and an advance signal. Slower than the schedule, and written without looking at it.

#include <array>
#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "adagp/sim/arrays/tensordash_schedule.h"

namespace adagp::arrays::test {

// Lines ahead; lanes to the right, negative to the left.
struct Movement {
  int step, lane;
};
// The published lists of the seven inputs beside a lane's own pair.
inline std::span<const Movement> movements(Order order) {
  static constexpr Movement kPaper[] = {{1, 0}, {2, 0}, {1, -1}, {1, 1}, {2, -2}, {2, 2}, {1, -3}};
  static constexpr Movement kSorted[] = {{1, -1}, {1, 0}, {1, 1}, {1, 3}, {2, -2}, {2, 0}, {2, 2}};
  return order == Order::kPaper ? kPaper : kSorted;
}

struct Pair {
  int64_t a = 0, b = 0;
  int64_t id = -1;  // for the check that each is used once
};
using Line = std::array<Pair, 16>;

class PeRow {
 public:
  PeRow(const std::vector<Line>& stream, std::span<const Movement> moves)
      : waiting_(stream.begin(), stream.end()), moves_(moves.begin(), moves.end()) {
    for (Line& line : window_) pull(line);
  }

  bool first_is_empty() const { return none(0); }

  // One cycle: every lane multiplies at most one pair of the window.
  void multiply() {
    static const std::vector<std::vector<int>> kLevelLanes = {{0, 5, 10}, {1, 6, 11}, {2, 7, 12},
                                                              {3, 8, 13}, {4, 9, 14}, {15}};
    for (const auto& lanes : kLevelLanes) {
      std::vector<std::pair<int, int>> chosen;  // (line, lane) of the window, of this level
      for (const int lane : lanes) {
        // Eight inputs, the lane's own pair first; the encoder takes the first that is not zero.
        std::vector<std::pair<int, int>> inputs = {{0, lane}};
        for (const Movement& move : moves_)
          inputs.emplace_back(move.step, (lane + move.lane + 16) % 16);
        for (const auto& [line, at] : inputs) {
          if (!full(line, at)) continue;
          chosen.emplace_back(line, at);
          break;
        }
      }
      // A level is decided at once: no two lanes may have chosen the same pair.
      for (const auto& [line, at] : chosen) {
        Pair& pair = window_[static_cast<size_t>(line)][static_cast<size_t>(at)];
        clash = clash || !used.insert(pair.id).second;
        sum += pair.a * pair.b;
        pair = {};
      }
    }
  }

  void advance() {
    window_[0] = window_[1];
    window_[1] = window_[2];
    window_[2] = {};
    pull(window_[2]);
  }

  int64_t sum = 0;
  std::set<int64_t> used;
  bool clash = false;

 private:
  bool full(int line, int lane) const {
    const Pair& pair = window_[static_cast<size_t>(line)][static_cast<size_t>(lane)];
    return pair.a != 0 && pair.b != 0;
  }
  bool none(int line) const {
    for (int lane = 0; lane < 16; ++lane) {
      if (full(line, lane)) return false;
    }
    return true;
  }
  void pull(Line& line) {
    if (waiting_.empty()) return;
    line = waiting_.front();
    waiting_.pop_front();
  }

  std::deque<Line> waiting_;
  std::vector<Movement> moves_;
  std::array<Line, 3> window_{};
};

// Rows advance together. A cycle begins with the advance: past the line of the last cycle, and past
// at most two lines more that are empty in all rows.
inline int64_t run_tile(std::vector<PeRow>& rows, int64_t lines) {
  int64_t cycles = 0, at = 0;
  while (at < lines) {
    int skipped = 0;
    const auto all_empty = [&] {
      for (const PeRow& row : rows) {
        if (!row.first_is_empty()) return false;
      }
      return true;
    };
    while (skipped < 2 && at < lines && all_empty()) {
      for (PeRow& row : rows) row.advance();
      ++skipped;
      ++at;
    }
    if (at == lines) break;
    for (PeRow& row : rows) row.multiply();
    ++cycles;
    for (PeRow& row : rows) row.advance();
    ++at;
  }
  return cycles;
}

}  // namespace adagp::arrays::test

#include "adagp/sim/arrays/tensordash_schedule.h"

#include <array>
#include <bit>

#include "adagp/base/core/lookup.h"

namespace adagp::arrays {
namespace {

struct Movement {
  int step, lane;
};
using Movements = std::array<Movement, 7>;

constexpr Movements kPaperOrder = {{{1, 0}, {2, 0}, {1, -1}, {1, 1}, {2, -2}, {2, 2}, {1, -3}}};
constexpr Movements kSortedOrder = {{{1, -1}, {1, 0}, {1, 1}, {1, 3}, {2, -2}, {2, 0}, {2, 2}}};

// One row in one cycle: fills the zeros of `now` from the next two lines, which lose what is taken.
template <const Movements& kOrder>
void fill_row(uint16_t now, uint16_t& next, uint16_t& after) {
  for (const uint16_t level : kLevels) {
    auto want = static_cast<uint16_t>(level & ~now);
    if (want == 0) continue;
    for (const Movement& move : kOrder) {
      uint16_t& source = move.step == 1 ? next : after;
      const auto taken = static_cast<uint16_t>(std::rotr(source, move.lane) & want);
      source = static_cast<uint16_t>(source & ~std::rotl(taken, move.lane));
      want = static_cast<uint16_t>(want & ~taken);
    }
    if ((next | after) == 0) return;
  }
}

template <const Movements& kOrder>
int64_t cycles_of(uint16_t* streams, int64_t rows, int64_t lines) {
  const int64_t stride = lines + kLookahead;
  int64_t cycles = 0;
  int skipped = 0;
  for (int64_t t = 0; t < lines; ++t) {
    uint16_t* const first = streams + t;
    if (skipped < kLookahead) {
      uint16_t any = 0;
      for (int64_t row = 0; row < rows; ++row) any |= first[row * stride];
      if (any == 0) {
        ++skipped;
        continue;
      }
    }
    skipped = 0;
    ++cycles;
    for (int64_t row = 0; row < rows; ++row) {
      uint16_t* const line = first + row * stride;
      if (line[0] == 0xFFFF || (line[1] | line[2]) == 0) continue;
      fill_row<kOrder>(line[0], line[1], line[2]);
    }
  }
  return cycles;
}

}  // namespace

Order parse_order(const std::string& name) {
  static constexpr std::array kNames = {"paper", "sorted"};
  const auto& found = core::find_named(kNames, name, "tensordash.order", " is unknown");
  return std::string(found) == "paper" ? Order::kPaper : Order::kSorted;
}

int64_t scheduled_cycles(std::span<uint16_t> streams, int64_t rows, int64_t lines, Order order) {
  return order == Order::kPaper ? cycles_of<kPaperOrder>(streams.data(), rows, lines)
                                : cycles_of<kSortedOrder>(streams.data(), rows, lines);
}

}  // namespace adagp::arrays

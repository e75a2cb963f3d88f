#include "adagp/sim/arrays/tensordash_schedule.h"

#include <array>
#include <bit>

#include "adagp/base/core/lookup.h"
#include "adagp/sim/accel/checked_math.h"

namespace adagp::arrays {

using accel::ceil_div;

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

PackedLines pack(const accel::ZeroBits& bits, int64_t groups) {
  PackedLines out;
  out.groups = groups;
  const int64_t own = bits.channels / groups;
  out.blocks = ceil_div(own, kLanes);
  out.lines.assign(static_cast<size_t>(bits.rows() * groups * out.blocks), 0);
  for (int64_t row = 0; row < bits.rows(); ++row) {
    for (int64_t group = 0; group < groups; ++group) {
      uint16_t* const line = out.lines.data() + (row * groups + group) * out.blocks;
      const int64_t first = group * own;
      if (first % 8 == 0 && (own % 8 == 0 || groups == 1)) {
        const uint8_t* const bytes = bits.bytes.data() + row * bits.row_bytes() + first / 8;
        for (int64_t i = 0; i < ceil_div(own, 8); ++i) {
          line[i / 2] |= static_cast<uint16_t>(bytes[i] << (8 * (i % 2)));
        }
      } else {
        for (int64_t c = 0; c < own; ++c) {
          if (bits.at(row, first + c)) line[c / kLanes] |= static_cast<uint16_t>(1 << c % kLanes);
        }
      }
    }
  }
  return out;
}

void transpose16(std::array<uint16_t, 16>& a) {
  uint16_t mask = 0x00FF;
  for (unsigned j = 8; j != 0; j >>= 1, mask = static_cast<uint16_t>(mask ^ (mask << j))) {
    for (unsigned k = 0; k < 16; k = (k + j + 1) & ~j) {
      const auto swapped = static_cast<uint16_t>(((a[k] >> j) ^ a[k + j]) & mask);
      a[k + j] = static_cast<uint16_t>(a[k + j] ^ swapped);
      a[k] = static_cast<uint16_t>(a[k] ^ (swapped << j));
    }
  }
}

PackedLines pack_filters(const accel::ZeroBits& w, int64_t groups) {
  PackedLines out;
  out.groups = groups;
  const int64_t filters = w.outer[0] / groups, positions = w.outer[1] * w.outer[2];
  out.blocks = ceil_div(filters, kLanes);
  out.lines.assign(static_cast<size_t>(positions * w.channels * groups * out.blocks), 0);
  for (int64_t m = 0; m < w.outer[0]; ++m) {
    const int64_t group = m / filters, lane = m % filters;
    for (int64_t position = 0; position < positions; ++position) {
      for (int64_t c = 0; c < w.channels; ++c) {
        if (!w.at(m * positions + position, c)) continue;
        const int64_t row = position * w.channels + c;
        out.lines[static_cast<size_t>((row * groups + group) * out.blocks + lane / kLanes)] |=
            static_cast<uint16_t>(1 << lane % kLanes);
      }
    }
  }
  return out;
}

}  // namespace adagp::arrays

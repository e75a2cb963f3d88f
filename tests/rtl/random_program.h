#pragma once
// Random descriptors that the machine accepts, and programs made of them.

#include <algorithm>
#include <random>

#include "adagp/base/core/error.h"
#include "adagp/sim/rtl/descriptor.h"

namespace adagp::rtl {

class RandomProgram {
 public:
  // The programs use the first 128 rows of each memory, so that all of them are soon compared.
  RandomProgram(const Machine& machine, std::uint32_t seed) : machine_(machine), random_(seed) {
    for (int* bits :
         {&machine_.x_bits, &machine_.y_bits, &machine_.w_bits, &machine_.predictor_bits})
      *bits = std::min(*bits, 7);
  }

  std::uint32_t below(std::uint32_t n) { return random_() % n; }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

  std::size_t rows_of(Buffer b) const { return std::size_t{1} << machine_.address_bits(b); }

  // Every memory has its own place outside; this is the number of beats of all of them.
  std::size_t beats() const {
    std::size_t sum = 0;
    for (int b = 0; b < kBufferCount; ++b) sum += rows_of(static_cast<Buffer>(b));
    return sum;
  }

  // Loads or stores all memories, one after the other.
  void transfer_all(Program& program, bool store) {
    std::uint32_t addr = 0;
    for (int b = 0; b < kBufferCount; ++b) {
      const auto buffer = static_cast<Buffer>(b);
      Descriptor d = start(Op::kDma);
      d.kind = b;
      d.store = store;
      d.n0 = static_cast<std::uint32_t>(rows_of(buffer));
      d.addr = addr;
      addr += d.n0;
      if (machine_.has(buffer)) program.push_back(d);
    }
  }

  Descriptor start(Op op) const {
    Descriptor d;
    d.op = static_cast<std::uint32_t>(op);
    d.mask = kEveryPhase;
    d.wait = 31;
    return d;
  }

  // A descriptor of this operation that check() accepts. Tile rows never meet twice in one tile.
  Descriptor one(Op op) {
    for (;;) {
      Descriptor d = start(op);
      fill(d);
      try {
        check(machine_, {d, start(Op::kEnd)});
        return d;
      } catch (const DataError&) {
        continue;
      }
    }
  }

  Op operation() {
    switch (below(machine_.has_predictor_array() ? 9 : 8)) {
      case 0:
      case 1:
      case 2:
        return Op::kTile;
      case 3:
        return Op::kDma;
      case 4:
      case 5:
        return Op::kVec;
      case 6:
        return Op::kReorg;
      case 7:
        return one_in(3) ? Op::kBarrier : Op::kVec;
      default:
        return Op::kPtile;
    }
  }

  // An update of some of the first 64 rows. With a scale, in one of 8 rows from `scales` on, it
  // measures its gradient against up to 2^15 elements, or has a predicted one.
  Descriptor update(std::uint32_t scales) {
    Descriptor d = start(Op::kVec);
    d.kind = static_cast<std::uint32_t>(one_in(5) ? VecKind::kSgdPred : VecKind::kSgd);
    d.n0 = 1 + below(6);
    d.n1 = d.n2 = d.s0 = 1;
    d.xb = below(64);
    d.yb = below(64);
    d.shift_a = d.shift_b = 3;
    if (one_in(4)) return d;
    d.bias = 1;
    d.wb = scales + below(8);
    if (static_cast<VecKind>(d.kind) == VecKind::kSgdPred) return d;
    d.clear = below(2);
    d.drain = !one_in(4);
    d.addr = (1 + below(64)) << below(10);
    return d;
  }

 private:
  void fill(Descriptor& d) {
    const auto op = static_cast<Op>(d.op);
    d.n0 = 1 + below(7);
    d.n1 = 1 + below(4);
    d.n2 = 1 + below(3);
    d.s0 = 1 + below(2);
    d.s1 = d.n0 * d.s0 + below(2);
    d.s2 = d.n1 * d.s1 + below(2);
    d.xb = below(64);
    d.yb = below(64);
    d.wb = below(64);
    if (op == Op::kTile || op == Op::kPtile) {
      d.mode = below(op == Op::kTile || machine_.pred_three_modes ? 3 : 1);
      d.load_w = below(2);
      d.acc_in = below(2);
      if (static_cast<Mode>(d.mode) == Mode::kDw) {
        d.clear = below(2);
        d.drain = below(2);
      }
      if (op == Op::kTile && machine_.design == Design::kEfficient) d.psrc = below(2);
    } else if (op == Op::kDma) {
      d = start(op);
      d.kind = below(kBufferCount);
      d.store = below(2);
      d.n0 = 1 + below(20);
      d.xb = below(64);
      // Outside rows of the memory itself, so that a final store overwrites them.
      for (std::uint32_t b = 0; b < d.kind; ++b)
        d.addr += static_cast<std::uint32_t>(rows_of(static_cast<Buffer>(b)));
      d.addr += below(64);
    } else if (op == Op::kVec) {
      d.kind = below(kVecCount);
      d.relu = below(2);
      d.bias = below(2);
      d.psrc = below(2);
      d.s3 = below(64);
      d.shift_a = below(machine_.format == Format::kFixed ? 20 : 4);
      d.shift_b = below(machine_.format == Format::kFixed ? 20 : 4);
      const auto kind = static_cast<VecKind>(d.kind);
      if (kind == VecKind::kSgd && d.bias && !d.psrc) {
        d.clear = below(2);
        d.drain = below(2);
        d.addr = 1 + below(1 << below(20));
      }
      const bool sgd = kind == VecKind::kSgd || kind == VecKind::kSgdPred;
      d.rot = below(sgd                       ? 16
                    : kind == VecKind::kAct   ? machine_.cols
                    : kind == VecKind::kError ? machine_.pred_rows
                                              : machine_.rows);
      if (kind == VecKind::kError) d.addr = below(machine_.rows + 1);
      // Groups that do not overlap.
      d.gs = static_cast<std::uint32_t>(d.n2 * d.s2 + below(3));
    } else if (op == Op::kReorg) {
      d.kind = below(kReorgCount);
      d.shift_a = below(machine_.format == Format::kFixed ? 20 : 4);
      d.xb = below(4);
      d.s3 = below(8);
      const std::uint32_t c0 = 1 + below(4), c1 = 1 + below(3);
      d.addr = c0 | c1 << 16;
      d.relu = below(2);
      if (machine_.has_predictor_array()) d.psrc = below(2);
      d.rot = below(machine_.pred_rows);
      d.gs = c0 * c1 + below(3);
    }
  }

  Machine machine_;
  std::mt19937 random_;
};

}  // namespace adagp::rtl

#pragma once
// Cycles and events of a program on the machine, without running it. Torch-free. Equal to the
// counters of the RTL with an outside memory that never stalls; with stalls, the RTL's cycles lie
// between this and this plus `dma_stalls`.

#include <cstdint>
#include <span>

#include "adagp/sim/rtl/descriptor.h"

namespace adagp::rtl {

struct Counts {
#define ADAGP_RTL_MEMBER(name) std::uint64_t name = 0;
  ADAGP_RTL_EVENTS(ADAGP_RTL_MEMBER)
#undef ADAGP_RTL_MEMBER
  bool operator==(const Counts&) const = default;
  Counts& operator+=(const Counts& other);
  Counts operator*(std::uint64_t times) const;
};

// Cycles in which the descriptor occupies its engine; 0 for barrier and end. The tile law is
//   [COLS if load_w] + n0 n1 n2 + (ROWS + COLS + 1) + [COLS if drain] + 1
// (rows and columns of the array it runs on); the others: see cycle_model.cpp.
std::uint64_t busy_cycles(const Machine& machine, const Descriptor& descriptor);

// Passes over the rows that a vec or reorg descriptor makes because lanes are regrouped.
std::uint64_t chunks(const Machine& machine, const Descriptor& descriptor);

// One batch. Every batch starts with all engines idle, so phases can be summed. A descriptor takes
// 3 cycles of the sequencer (fetch, decode, issue) and waits in `issue` until its engine and the
// engines of its `wait` bits are idle.
Counts predict_batch(const Machine& machine, std::span<const Descriptor> program, Phase phase);

// The whole schedule: the batches of each phase times their counts.
Counts predict(const Machine& machine, const Program& program, const Schedule& schedule);

}  // namespace adagp::rtl

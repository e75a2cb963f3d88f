#pragma once
// Off-chip traffic and stalls of one product.
//
// Counted: every operand and result that crosses the off-chip interface, in words, as tensors (not
// as im2col matrices; padding is not read, halos between tiles are not read twice). The best of
// these loop orders that fit the buffer is taken, I, F, O being the words of input, filter and
// output:
//   resident     all three fit                                   I + F + O
//   hold filter  tn columns of F and whole rows of I pass by     I*ceil(N/tn) + F + O
//   hold input   tm rows of I stay, F passes by                  I + F*ceil(M/tm) + O
//   hold output  tm x tn sums stay, both operands pass by        I*ceil(N/tn) + F*ceil(M/tm) + O
//   spill        tk x tn of F stays, sums leave and come back
//                                                I*ceil(N/tn) + F + O*(2*ceil(K/tk)-1)
// Capacity is buffer_bytes, half of it when double buffered; 0 is unbounded, hence "resident".
// `spill` is the only order in which partial sums leave the chip, and is taken only when no other
// fits. Groups run one after the other, so capacity is asked of one group.
//
// First tiles: what must be in the buffer before the first multiplication, in words:
//   resident, hold filter  the filter columns that stay (all, tn) and the input of one row, I/M
//   hold input             the tm rows that stay and one column of the filter
//   hold output            one column of the input tile and one row of the filter tile, tm + tn
//   spill                  the tk x tn weights that stay and one input
// They are part of the DRAM words, and pass the interface once like the rest.
//
// Stalls, with `dram` and `buffer` the cycles that all DRAM and all buffer bytes take at their
// bandwidths and `fill` the share of `dram` for the first tiles:
//   double buffered  time = max(fill + max(compute, buffer), dram): while the array computes, the
//                    rest of the DRAM words passes
//   otherwise        time = dram + max(compute, buffer)
// stall_cycles = time - compute. Without a bandwidth there are no stalls.

#include <cstdint>

#include "adagp/sim/accel/accelerator.h"
#include "adagp/sim/accel/dataflow/dataflow.h"

namespace adagp::accel {

enum class LoopOrder { kResident, kHoldFilter, kHoldInput, kHoldOutput, kSpill };
const char* loop_order_name(LoopOrder order);

struct MemoryCost {
  LoopOrder order = LoopOrder::kResident;
  int64_t dram_reads = 0;  // words: of both operands, and of sums that come back
  int64_t input_reads = 0, filter_reads = 0, sum_reads = 0;
  int64_t dram_writes = 0;  // words
  int64_t first_tile = 0;   // words of the first tiles, part of dram_reads
  int64_t fill_cycles = 0;
  int64_t stall_cycles = 0;
};

// Traffic alone. `filter_kept`: the right operand is in the PEs already (ArrayCost), F is 0.
MemoryCost dram_traffic(const Work& work, const Accelerator& accelerator, bool filter_kept = false);
// Traffic and stalls of a product that takes `cost` on the array.
MemoryCost memory_cost(const Work& work, const ArrayCost& cost, const Accelerator& accelerator);

// Cycles beyond `compute` when `bytes` must pass at `bytes_per_cycle` (0: unbounded) beside it.
// Rounded up; 0 without a rate. Throws Overflow.
int64_t cycles_for(double amount, double per_cycle);
int64_t bandwidth_stall(int64_t compute, double bytes, double bytes_per_cycle);

// What it costs to read an operand in the other order. The input gradient needs W^T, the weight
// gradient X^T; the dataflow in-place needs neither.
//   free    nothing
//   buffer  the operand is read and written once through the buffer before the product:
//           ceil(words / words per cycle) cycles, and the energy of both accesses. Words per cycle
//           by buffer.bytes_per_cycle, without one a word per column
//   unit    `transposers` units turn a block of 16x16 words in 16 cycles each, beside the product:
//           max(0, ceil(blocks / units) * 16 - cycles of the product); no extra accesses

struct Transposition {
  int64_t words = 0;   // of the operand that is turned
  int64_t cycles = 0;  // the array waits
  double energy = 0;   // J
};

Transposition transposition(const Work& work, const ArrayCost& cost, const Dataflow& dataflow,
                            const Accelerator& accelerator);

}  // namespace adagp::accel

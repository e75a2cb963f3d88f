#pragma once
// What it costs to read an operand in the other order. The input gradient needs W^T, the weight
// gradient X^T; the dataflow in-place needs neither.
//   free    nothing
//   buffer  the operand is read and written once through the buffer before the product:
//           ceil(words / words per cycle) cycles, and the energy of both accesses. Words per cycle
//           by buffer.bytes_per_cycle, without one a word per column
//   unit    `transposers` units turn a block of 16x16 words in 16 cycles each, beside the product:
//           max(0, ceil(blocks / units) * 16 - cycles of the product); no extra accesses

#include "adagp/sim/accel/dataflow/dataflow.h"

namespace adagp::accel {

struct Transposition {
  int64_t words = 0;   // of the operand that is turned
  int64_t cycles = 0;  // the array waits
  double energy = 0;   // J
};

Transposition transposition(const Work& work, const ArrayCost& cost, const Dataflow& dataflow,
                            const Accelerator& accelerator);

}  // namespace adagp::accel

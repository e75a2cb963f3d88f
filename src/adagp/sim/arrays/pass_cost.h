#pragma once
// From the cycles and buffer words of a product to stalls, DRAM words and energy.

#include "adagp/sim/accel/cost.h"

namespace adagp::arrays {

// How much of a word an operand or a result takes on the way to and from buffer and DRAM. Stalls
// count whole words.
struct WordShares {
  double left = 1, right = 1, output = 1;
};

// A product that takes `cost`. `mac_joules` is the energy of its multipliers.
accel::PassCost pass_cost(const accel::Work& work, const accel::ArrayCost& cost,
                          const accel::Accelerator& accelerator, double mac_joules,
                          const WordShares& shares = {});

}  // namespace adagp::arrays

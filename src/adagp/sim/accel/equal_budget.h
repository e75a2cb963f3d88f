#pragma once
// Equal power or area: the baseline gets the PEs that ADA-GP's extra hardware would cost (10 % at
// equal power, 11 % at equal area, in the paper), and every design is compared with that baseline.

#include <cstdint>

#include "adagp/sim/accel/cost.h"

namespace adagp::accel {

// floor(PEs * (1 + extra/100)). Throws UsageError for less than 0 % or more than 1000 %.
int64_t pes_with(const Array& array, double extra_percent);

struct BestArray {
  Array array;
  int64_t cycles = 0;  // of one batch of the baseline on it, total
};

// Of the arrays of at most `pes` PEs to which neither a row nor a column can be added, the one on
// which a batch of the baseline takes the fewest total cycles; among equals the one with the fewest
// rows. A run is so many equal batches, so it is the best for every run.
BestArray best_array(const Plan& plan, const Accelerator& accelerator, const Dataflow& dataflow,
                     int64_t pes);

}  // namespace adagp::accel

#pragma once
// Equal power or area: the baseline gets the PEs that ADA-GP's extra hardware would cost (10 % at
// equal power, 11 % at equal area, in the paper), and every design is compared with that baseline.

#include <cstdint>

#include "adagp/accel/simulate.h"

namespace adagp::accel {

struct IsoResult {
  int64_t pes = 0;  // floor(PEs * (1 + extra/100))
  Array best;       // the rows x columns <= pes with the fewest total cycles for this network
  int64_t best_cycles = 0;   // the baseline's run on it, total cycles
  int64_t ideal_cycles = 0;  // the baseline's run on the given array divided by 1 + extra/100
  double speedup_best = 0;   // of `design` on the given array over `best`
  double speedup_ideal = 0;
};

IsoResult compare_iso(const Plan& plan, const Accelerator& accelerator, const Dataflow& dataflow,
                      const Design& design, const Run& run, double extra_percent);

}  // namespace adagp::accel

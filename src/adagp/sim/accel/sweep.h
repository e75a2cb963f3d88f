#pragma once
// Many simulations at once, on all cores.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "adagp/sim/accel/cost.h"
#include "adagp/sim/accel/simulate.h"

namespace adagp::accel {

// Calls job(i) for i = 0 .. count-1 on `threads` threads (0: one per core), in any order.
// `progress(done)` is called from the calling thread only, about ten times a second and once at the
// end. The first exception, of a job or of `progress`, stops the rest and is thrown again here.
void for_each(size_t count, unsigned threads, const std::function<void(size_t)>& job,
              const std::function<void(size_t done)>& progress = {});

struct Point {
  const Plan* plan = nullptr;
  const Dataflow* dataflow = nullptr;
  Accelerator accelerator;
  std::vector<const Design*> designs;  // empty: inference
  Run run;
};

// Numbers alone, so that 100,000 points need little memory: what a sweep prints.
struct PhaseSummary {
  int64_t batches = 0;
  int64_t compute = 0, vector = 0, stall = 0;  // cycles
  double energy = 0;                           // J
};
struct DesignSummary {
  const Design* design = nullptr;
  Cycles cycles;
  Energy energy;
  double seconds = 0, speedup = 1, energy_ratio = 1, memory_energy_ratio = 1;
  PhaseSummary warm_up, phase_bp, phase_gp;
  SecondArray second;
};
DesignSummary summary_of(const DesignResult& result);
struct PointResult {
  std::vector<DesignSummary> designs;
  PassCost inference;  // when the point has no designs
};
std::vector<PointResult> sweep(const std::vector<Point>& points, unsigned threads,
                               const std::function<void(size_t done)>& progress = {});

// Indices of the points no other point beats in both values (less is better), by ascending x.
std::vector<size_t> pareto(const std::vector<double>& x, const std::vector<double>& y);

// Equal power or area: the baseline gets the PEs that ADA-GP's extra hardware would cost (10 % at
// equal power, 11 % at equal area, in the paper), and every design is compared with that baseline.

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

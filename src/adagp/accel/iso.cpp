#include "adagp/accel/iso.h"

#include <cmath>

#include "adagp/core/error.h"
#include "adagp/core/text.h"

namespace adagp::accel {

IsoResult compare_iso(const Plan& plan, const Accelerator& accelerator, const Dataflow& dataflow,
                      const Design& design, const Run& run, double extra_percent) {
  constexpr double kMost = 1000;
  if (!(extra_percent >= 0 && extra_percent <= kMost)) {
    throw UsageError(core::cat("extra PEs ", extra_percent, " %: expected 0 to ", kMost));
  }
  const double factor = 1 + extra_percent / 100;
  const Design* asked[] = {&design};
  const TrainingResult ours = simulate_training(plan, accelerator, dataflow, asked, run);
  const auto time = static_cast<double>(ours.designs.front().cycles.total());
  const auto baseline = static_cast<double>(ours.baseline.cycles.total());

  IsoResult out;
  // 180 * 1.1 is a hair under 198 in binary.
  out.pes = static_cast<int64_t>(
      std::floor(static_cast<double>(accelerator.array.pes()) * factor + 1e-9));
  out.ideal_cycles = static_cast<int64_t>(std::llround(baseline / factor));
  out.speedup_ideal = baseline / factor / time;

  Accelerator other = accelerator;
  const Design* plain[] = {&kBaseline};
  for (int64_t rows = 1; rows <= out.pes; ++rows) {
    other.array.rows = rows;
    other.array.columns = out.pes / rows;
    const int64_t cycles =
        simulate_training(plan, other, dataflow, plain, run).baseline.cycles.total();
    if (out.best_cycles == 0 || cycles < out.best_cycles) {
      out.best_cycles = cycles;
      out.best = other.array;
    }
  }
  out.speedup_best = static_cast<double>(out.best_cycles) / time;
  return out;
}

}  // namespace adagp::accel

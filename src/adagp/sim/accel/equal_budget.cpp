#include "adagp/sim/accel/equal_budget.h"

#include <cmath>

#include "adagp/sim/accel/checked_math.h"

namespace adagp::accel {

int64_t pes_with(const Array& array, double extra_percent) {
  constexpr double kMost = 1000;
  if (!(extra_percent >= 0 && extra_percent <= kMost)) {
    throw UsageError(core::cat("extra PEs ", extra_percent, " %: expected 0 to ", kMost));
  }
  // 180 * 1.1 is a hair under 198 in binary.
  const double pes = static_cast<double>(array.pes()) * (1 + extra_percent / 100);
  return static_cast<int64_t>(std::floor(pes + 1e-9));
}

BestArray best_array(const Plan& plan, const Accelerator& accelerator, const Dataflow& dataflow,
                     int64_t pes) {
  Accelerator tried = accelerator;
  std::vector<LayerCost> layers;
  BestArray best;
  for (int64_t rows = 1; rows <= pes; ++rows) {
    const int64_t columns = pes / rows;
    rows = pes / columns;  // as many as these columns leave room for
    tried.array.rows = rows;
    tried.array.columns = columns;
    evaluate(plan, tried, dataflow, Scope::kBackprop, layers);
    int64_t cycles = 0;
    for (const LayerCost& layer : layers) {
      cycles = add(cycles, layer.forward.total(), layer.backward().total());
    }
    if (best.cycles == 0 || cycles < best.cycles) best = {tried.array, cycles};
  }
  return best;
}

}  // namespace adagp::accel

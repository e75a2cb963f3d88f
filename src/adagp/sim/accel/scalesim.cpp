#include "adagp/sim/accel/scalesim.h"

#include "adagp/sim/accel/checked_math.h"

namespace adagp::accel {

ScaleSimReport scalesim_report(const Work& work, const Dataflow& dataflow, const Array& array) {
  const bool output_stationary = &dataflow == &kOutputStationary;
  if (!output_stationary && &dataflow != &kWeightStationary && &dataflow != &kInputStationary) {
    throw UsageError(std::string("dataflow '") + dataflow.name +
                     "' is not one of SCALE-Sim's: ws, is, os");
  }
  if (work.groups != 1) {
    throw UsageError("SCALE-Sim has no groups: give each group (channel) a layer of its own");
  }
  const ArrayCost cost = dataflow.cost(work, array);
  ScaleSimReport out;
  out.compute_cycles = cost.cycles - 1;
  // A 1x1 array with nothing to add up would divide by zero; SCALE-Sim does.
  const double cycles = static_cast<double>(out.compute_cycles > 0 ? out.compute_cycles : 1);
  out.overall_util =
      100 * static_cast<double>(cost.macs) / (cycles * static_cast<double>(array.pes()));
  out.mapping_efficiency = 100 * mapping_efficiency(cost, array);
  const int64_t lines = cost.cycles / cost.folds + (output_stationary ? 0 : array.columns - 1);
  out.compute_util =
      out.mapping_efficiency * static_cast<double>(cost.stream) / static_cast<double>(lines);
  out.sram = cost.sram;
  if (output_stationary) {
    out.sram.ofmap = add(out.sram.ofmap, mul(cost.folds, array.rows + array.columns));
  }
  return out;
}

}  // namespace adagp::accel

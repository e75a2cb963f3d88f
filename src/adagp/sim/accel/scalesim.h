#pragma once
// What SCALE-Sim v2/v3 prints for the same product: one cycle less, its own three percentages, and
// for output stationary folds*(H+W) more result words.

#include <cstdint>

#include "adagp/sim/accel/dataflow/dataflow.h"

namespace adagp::accel {

struct ScaleSimReport {
  int64_t compute_cycles = 0;     // "Total Cycles": demand cycles - 1
  double overall_util = 0;        // percent: macs / (compute_cycles * PEs)
  double mapping_efficiency = 0;  // percent
  // percent: mapping efficiency * stream / lines of a fold, where ws and is count W - 1 lines more
  // than cycles per fold.
  double compute_util = 0;
  SramWords sram;  // ofmap with folds*(H+W) for os
};

// For ws, is and os; UsageError for a dataflow SCALE-Sim does not have. Groups must be 1: SCALE-Sim
// runs depthwise layers channel by channel.
ScaleSimReport scalesim_report(const Work& work, const Dataflow& dataflow, const Array& array);

}  // namespace adagp::accel

#pragma once
// What `adagp scalesim --json` prints.

#include <string>
#include <vector>

#include "adagp/sim/scalesim/config.h"
#include "adagp/sim/scalesim/reports.h"
#include "adagp/sim/scalesim/topology.h"

namespace adagp::study {

// {"run_name", "array", "dataflow", "layers": [{"name", "total_cycles", ...}], "total": {...}};
// keys as in `simulate --json` where they mean the same, percentages as shares. `layers` are the
// topology's, in its order.
std::string scalesim_json(const scalesim::Config& config, const scalesim::Topology& topology,
                          const std::vector<scalesim::LayerReport>& layers);

}  // namespace adagp::study

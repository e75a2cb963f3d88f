#pragma once
// What the traces of a run hold: shares of non-zeros and mantissa widths by layer and epoch.

#include <string>
#include <vector>

#include "adagp/results/page/run_traces.h"
#include "adagp/results/report/table.h"

namespace adagp::page {

// A line for each layer of each epoch.
report::Table trace_table(const std::vector<arrays::Trace>& traces);

std::string trace_info_text(const std::string& run);
std::string trace_info_json(const std::string& run);

}  // namespace adagp::page

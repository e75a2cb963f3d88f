#pragma once
// The traces of a run, their layers in the order of the network where the run has its layer table.

#include <string>
#include <vector>

#include "adagp/results/report/chart.h"
#include "adagp/results/report/table.h"
#include "adagp/sim/arrays/trace.h"

namespace adagp::page {

// By epoch, at least one. Throws DataError as arrays::trace_files and arrays::read_trace.
std::vector<arrays::Trace> run_traces(const std::string& run);

// What the traces of a run hold: shares of non-zeros and mantissa widths by layer and epoch.

// A line for each layer of each epoch.
report::Table trace_table(const std::vector<arrays::Trace>& traces);

std::string trace_info_text(const std::string& run);
std::string trace_info_json(const std::string& run);

// Pictures of a run's traces: layers by epochs.

// The share of zeros of "x", "dy" or "w", or of all three ("zeros"); mantissa bits of "bits-w",
// "bits-a", "bits-g", or of all three ("bits"), fp32 in the other colour. Throws UsageError for
// other names, DataError where the run has no such widths.
report::HeatMap trace_map(const std::string& run, const std::string& value);

}  // namespace adagp::page

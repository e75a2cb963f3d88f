#pragma once
// Pictures of a run's traces: layers by epochs.

#include <string>

#include "adagp/results/report/chart.h"

namespace adagp::page {

// The share of zeros of "x", "dy" or "w", or of all three ("zeros"); mantissa bits of "bits-w",
// "bits-a", "bits-g", or of all three ("bits"), fp32 in the other colour. Throws UsageError for
// other names, DataError where the run has no such widths.
report::HeatMap trace_map(const std::string& run, const std::string& value);

}  // namespace adagp::page

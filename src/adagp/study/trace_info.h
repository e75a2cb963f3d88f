#pragma once
// What the traces of a run hold: shares of non-zeros and mantissa widths by layer and epoch.

#include <string>

#include "adagp/report/chart.h"

namespace adagp::study {

std::string trace_info_text(const std::string& run);
std::string trace_info_json(const std::string& run);
// Layers by epochs: the share of zeros of "x", "dy" or "w", or mantissa bits "bits-w", "bits-a",
// "bits-g". Throws UsageError for other names.
report::HeatMap trace_map(const std::string& run, const std::string& value);

}  // namespace adagp::study

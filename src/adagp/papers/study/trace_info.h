#pragma once
// What the traces of a run hold: shares of non-zeros and mantissa widths by layer and epoch.

#include <string>

namespace adagp::study {

std::string trace_info_text(const std::string& run);
std::string trace_info_json(const std::string& run);

}  // namespace adagp::study

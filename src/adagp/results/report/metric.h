#pragma once
// The figures that tasks have, by the names they have in files.

#include <string>

#include "adagp/results/report/compare.h"

namespace adagp::report {

// "top1" -> {"top1", "top-1", percent}. A figure of the user's own is shown by its name, and is no
// percentage.
Metric metric_named(const std::string& name);

}  // namespace adagp::report

#pragma once
// A comparison as a picture: what lies between the methods, with its intervals.

#include <string>

#include "adagp/results/report/chart.h"
#include "adagp/results/report/compare.h"

namespace adagp::report {

// A row for each pair that has common seeds; none: there is nothing to draw.
IntervalChart to_chart(const Comparison& comparison);

// Throws Error where there is nothing to draw.
std::string to_svg(const Comparison& comparison);

}  // namespace adagp::report

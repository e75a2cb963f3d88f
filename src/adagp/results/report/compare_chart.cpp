#include "adagp/results/report/compare_chart.h"

#include <cmath>

namespace adagp::report {

IntervalChart to_chart(const Comparison& comparison) {
  IntervalChart chart;
  chart.title = "Differences in " + comparison.metric.label;
  chart.x_title = "points of " + comparison.metric.label + ", with 95 % t interval over the seeds";
  for (const PairedRow& pair : comparison.pairs) {
    if (!std::isfinite(pair.points.mean)) continue;
    chart.rows.push_back(
        {pair.method + " − " + pair.against, pair.points.mean, pair.points.low, pair.points.high});
  }
  return chart;
}

std::string to_svg(const Comparison& comparison) {
  return svg(to_chart(comparison));
}

}  // namespace adagp::report

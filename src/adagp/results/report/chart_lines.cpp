#include <algorithm>
#include <limits>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/chart_frame.h"

namespace adagp::report {
namespace {

std::string line_colour(const LineChart& chart, size_t index) {
  const int own = chart.series[index].colour;
  return colour_of(own < 0 ? index : static_cast<size_t>(own));
}

struct Extent {
  double x_low, x_high, y_low, y_high;
};

Extent extent_of(const LineChart& chart) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Extent out{kInfinity, -kInfinity, chart.from_zero && !chart.log_y ? 0 : kInfinity, -kInfinity};
  for (const LineSeries& series : chart.series) {
    const std::string name = "series '" + series.name + "'";
    if (!series.errors.empty() && series.errors.size() != series.points.size()) {
      throw Error(core::cat("chart: ", name, " has ", series.errors.size(), " bars, expected ",
                            series.points.size()));
    }
    if (!series.labels.empty() && series.labels.size() != series.points.size()) {
      throw Error(core::cat("chart: ", name, " has ", series.labels.size(), " labels, expected ",
                            series.points.size()));
    }
    if (!series.band.empty() && series.band.size() != series.points.size()) {
      throw Error(core::cat("chart: ", name, " has a band of ", series.band.size(),
                            " points, expected ", series.points.size()));
    }
    for (size_t i = 0; i < series.points.size(); ++i) {
      const auto& [x, y] = series.points[i];
      const double bar = series.errors.empty() ? 0 : series.errors[i];
      for (const double value : {x, y, bar}) check_finite(value, name);
      if (chart.log_x && x <= 0) {
        throw Error(core::cat("chart: ", name, " has x = ", core::shortest(x),
                              ", which a logarithmic axis has no place for"));
      }
      const auto [low, high] = series.band.empty() ? std::pair(y, y) : series.band[i];
      for (const double value : {low, high}) check_finite(value, name);
      if (chart.log_y && (y <= 0 || low <= 0)) {
        throw Error(core::cat("chart: ", name, " has y = ", core::shortest(std::min(y, low)),
                              ", which a logarithmic axis has no place for"));
      }
      out = {std::min(out.x_low, x), std::max(out.x_high, x), std::min({out.y_low, y - bar, low}),
             std::max({out.y_high, y + bar, high})};
    }
  }
  if (out.x_low > out.x_high) throw Error("chart: '" + chart.title + "' has no data");
  return out;
}

}  // namespace

std::string svg(const LineChart& chart, Use use) {
  const Extent extent = extent_of(chart);
  std::vector<Key> keys;
  for (size_t s = 0; s < chart.series.size(); ++s) {
    const LineSeries& series = chart.series[s];
    const bool plain = series.stroke == Stroke::kSolid && series.marker == 0;
    if (series.name.empty()) continue;
    keys.push_back({series.name, line_colour(chart, s), plain ? nullptr : &series});
  }
  Frame frame = make_frame(chart.title, chart.x_title, chart.y_title, keys, {620, 320}, use);
  Svg& out = frame.drawing;
  const auto y_ticks = chart.log_y ? log_ticks(extent.y_low, extent.y_high)
                                   : axis_ticks(extent.y_low, extent.y_high);
  const auto x_ticks = chart.log_x ? log_ticks(extent.x_low, extent.x_high)
                                   : axis_ticks(extent.x_low, extent.x_high);
  const auto y_of = draw_y_axis(frame, y_ticks, chart.log_y);
  const auto x_of = draw_x_axis(frame, x_ticks, chart.log_x);
  for (size_t s = 0; s < chart.series.size(); ++s) {  // below all lines
    std::vector<std::pair<double, double>> outline;
    const LineSeries& series = chart.series[s];
    for (size_t i = 0; i < series.band.size(); ++i) {
      outline.emplace_back(x_of(series.points[i].first), y_of(series.band[i].second));
    }
    for (size_t i = series.band.size(); i-- > 0;) {
      outline.emplace_back(x_of(series.points[i].first), y_of(series.band[i].first));
    }
    if (!outline.empty()) out.polygon(outline, line_colour(chart, s), "band");
  }
  for (size_t s = 0; s < chart.series.size(); ++s) {
    const LineSeries& series = chart.series[s];
    const std::string colour = line_colour(chart, s);
    std::vector<std::pair<double, double>> points;
    for (const auto& [x, y] : series.points) points.emplace_back(x_of(x), y_of(y));
    if (series.stroke != Stroke::kNone) out.path(points, colour, dash_of(series.stroke));
    for (size_t i = 0; i < points.size(); ++i) {
      const auto& [x, y] = series.points[i];
      if (!series.errors.empty() && series.errors[i] > 0) {
        const double bar = series.errors[i];
        out.line(points[i].first, y_of(y - bar), points[i].first, y_of(y + bar), colour, 1.5);
      }
      if (series.marker > 0) {
        out.marker(
            points[i].first, points[i].second, series.marker, colour,
            core::cat(series.name, ": ", series.labels.empty() ? "" : series.labels[i] + ": ",
                      core::shortest(x), ", ", core::shortest(y)));
      }
    }
  }
  note_scales(frame, x_ticks, y_ticks);
  return out.str(use);
}

}  // namespace adagp::report

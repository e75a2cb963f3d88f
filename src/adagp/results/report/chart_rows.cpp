// Charts whose rows have names: heat maps, and values with intervals.

#include <algorithm>
#include <cmath>
#include <map>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/chart_frame.h"
#include "adagp/results/report/table.h"

namespace adagp::report {
namespace {

double widest_of(const std::vector<std::string>& names) {
  double widest = 30;
  for (const std::string& name : names) widest = std::max(widest, text_width(name, 12));
  return widest;
}

}  // namespace

int heat_colour(double value, double limit) {
  constexpr int kMiddle = kHeatColours / 2;
  const double share = std::clamp(value / limit, -1.0, 1.0);
  // Away from zero, so that a small value is not drawn as nothing.
  const double steps = std::ceil(std::abs(share) * kMiddle - 1e-9);
  return kMiddle + static_cast<int>(share < 0 ? -steps : steps);
}

std::vector<Key> legend_of(const HeatMap& chart) {
  std::vector<Key> legend;
  for (const auto& [value, name] : chart.keys) {
    legend.push_back({name, core::cat("h", heat_colour(value, chart.limit))});
  }
  return legend;
}

std::string svg(const HeatMap& chart, Use use) {
  if (chart.rows.empty() || chart.columns.empty() || !(chart.limit > 0)) {
    throw Error("chart: '" + chart.title + "' has no data");
  }
  const double cell = std::clamp(620 / static_cast<double>(chart.columns.size()), 2.0, 40.0);
  const double row = chart.rows.size() > 30 ? 14 : 18;
  const double width = cell * static_cast<double>(chart.columns.size());
  Frame frame = make_frame(
      chart.title, chart.x_title, "", legend_of(chart),
      {width, row * static_cast<double>(chart.rows.size()), widest_of(chart.rows) + 18, 50}, use);
  std::map<int, std::vector<std::array<double, 4>>> cells;
  for (size_t r = 0; r < chart.rows.size(); ++r) {
    if (chart.values.size() != chart.rows.size() ||
        chart.values[r].size() != chart.columns.size()) {
      throw Error("chart: '" + chart.title + "' has rows of different lengths");
    }
    const double y = frame.top + row * static_cast<double>(r);
    frame.drawing.text(frame.left - 8, y + row * 0.72, chart.rows[r], "end", 11);
    for (size_t c = 0; c < chart.columns.size(); ++c) {
      const double value = chart.values[r][c];
      if (!std::isfinite(value)) continue;
      const double x = std::round(100 * (frame.left + cell * static_cast<double>(c))) / 100;
      const double wide = std::round(100 * cell) / 100;
      cells[heat_colour(value, chart.limit)].push_back({x, y, wide, row - 1});
    }
  }
  for (const auto& [colour, boxes] : cells) frame.drawing.cells(boxes, core::cat("h", colour));
  const size_t every = std::max<size_t>(1, (chart.columns.size() + 9) / 10);
  for (size_t c = 0; c < chart.columns.size(); c += every) {
    frame.drawing.text(frame.left + cell * (static_cast<double>(c) + 0.5), frame.bottom() + 15,
                       axis_number(chart.columns[c]), "middle", 11);
  }
  frame.drawing.note("frame", core::cat(frame.left, " ", frame.top, " ", cell, " ", row));
  return frame.drawing.str(use);
}

std::string svg(const IntervalChart& chart, Use use) {
  if (chart.rows.empty()) throw Error("chart: '" + chart.title + "' has no data");
  std::vector<std::string> names;
  double low = 0, high = 0;
  for (const auto& row : chart.rows) {
    check_finite(row.value, "row '" + row.label + "'");
    names.push_back(row.label);
    for (const double value : {row.value, row.low, row.high}) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  constexpr double kRow = 26;
  const double pad = std::max((high - low) * 0.04, 1e-9);
  const auto count = static_cast<double>(names.size());
  Frame frame = make_frame(chart.title, chart.x_title, "", {},
                           {440, kRow * count, widest_of(names) + 18, 52}, use);
  const auto x_of = draw_x_axis(frame, axis_ticks(low - pad, high + pad));
  Svg& out = frame.drawing;
  out.line(x_of(0), frame.top, x_of(0), frame.bottom(), "ink", 1.5);
  for (size_t i = 0; i < chart.rows.size(); ++i) {
    const auto& row = chart.rows[i];
    const double y = frame.top + kRow * (static_cast<double>(i) + 0.5);
    out.text(frame.left - 8, y + 4, row.label, "end", 12);
    const bool interval = std::isfinite(row.low) && std::isfinite(row.high);
    if (interval) out.line(x_of(row.low), y, x_of(row.high), y, colour_of(0), 3);
    out.marker(
        x_of(row.value), y, 1, colour_of(0),
        row.label + ": " + signed_points(row.value) +
            (interval ? " (" + signed_points(row.low) + " to " + signed_points(row.high) + ")"
                      : ""));
  }
  return out.str(use);
}

}  // namespace adagp::report

#include "adagp/results/report/chart.h"

#include <algorithm>
#include <map>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/chart_frame.h"

namespace adagp::report {
namespace {

// Column of each series within its category, and the highest pile of all.
struct Piles {
  std::map<int, size_t> column;  // stack -> place from the left
  double highest = 0;
};

Piles pile_up(const BarChart& chart) {
  if (chart.categories.empty() || chart.series.empty()) {
    throw Error("chart: '" + chart.title + "' has no data");
  }
  Piles piles;
  for (const BarSeries& series : chart.series) piles.column[series.stack] = 0;
  size_t next = 0;
  for (auto& [stack, place] : piles.column) place = next++;
  for (size_t c = 0; c < chart.categories.size(); ++c) {
    std::map<int, double> height;
    for (const BarSeries& series : chart.series) {
      if (series.values.size() != chart.categories.size()) {
        throw Error(core::cat("chart: series '", series.name, "' has ", series.values.size(),
                              " values, expected ", chart.categories.size()));
      }
      check_finite(series.values[c], "series '" + series.name + "'");
      if (series.values[c] < 0) throw Error("chart: series '" + series.name + "' is negative");
      piles.highest = std::max(piles.highest, height[series.stack] += series.values[c]);
    }
  }
  piles.highest = std::max(piles.highest, chart.reference);
  return piles;
}

std::vector<std::string> kinds_of(const GanttChart& chart) {
  std::vector<std::string> kinds;
  for (const GanttBox& box : chart.boxes) {
    if (std::find(kinds.begin(), kinds.end(), box.kind) == kinds.end()) kinds.push_back(box.kind);
  }
  return kinds;
}

}  // namespace

std::vector<Key> legend_of(const BarChart& chart) {
  std::vector<std::string> names;
  for (const BarSeries& series : chart.series) names.push_back(series.name);
  return boxes_of(names);
}

std::vector<Key> legend_of(const GanttChart& chart) {
  return boxes_of(kinds_of(chart));
}

std::string svg(const BarChart& chart, Use use) {
  const Piles piles = pile_up(chart);
  const auto bars = static_cast<double>(piles.column.size());
  const auto categories = static_cast<double>(chart.categories.size());
  const double slot = std::clamp(900 / categories, bars * 7 + 6, std::max(90.0, bars * 22 + 14));
  // The page's style sheet has larger letters.
  const double letters = use == Use::kPage ? 12.5 : 11;
  double longest = 0;
  for (const auto& name : chart.categories) longest = std::max(longest, text_width(name, letters));
  const bool turned = longest > slot - 6;
  // Turned by 40 degrees a label reaches down by two thirds of its length.
  const double below = 50 + (turned ? longest * 0.66 : 0);
  Frame frame = make_frame(
      chart.title, chart.x_title, chart.y_title, legend_of(chart),
      {slot * categories, 320, turned ? std::max(74.0, longest * 0.77) : 74, below}, use);
  Svg& out = frame.drawing;
  const auto y_of = draw_y_axis(frame, axis_ticks(0, piles.highest));
  const double bar = (slot - 6) / bars;
  for (size_t c = 0; c < chart.categories.size(); ++c) {
    const double x0 = frame.left + slot * static_cast<double>(c);
    std::map<int, double> filled;
    for (size_t s = 0; s < chart.series.size(); ++s) {
      const BarSeries& series = chart.series[s];
      const double from = filled[series.stack], to = from + series.values[c];
      filled[series.stack] = to;
      const double x = x0 + 3 + bar * static_cast<double>(piles.column.at(series.stack));
      out.rect(x, y_of(to), bar * 0.92, y_of(from) - y_of(to), colour_of(s),
               chart.categories[c] + ", " + series.name + ": " + core::shortest(series.values[c]),
               "bar");
    }
    const double middle = x0 + slot / 2, y = frame.bottom() + 16;
    out.text(middle, y, chart.categories[c], turned ? "end" : "middle", 11, turned ? -40 : 0);
  }
  if (chart.reference > 0) {
    const double y = y_of(chart.reference);
    out.line(frame.left, y, frame.left + frame.width, y, "ink", 1.5);
  }
  out.line(frame.left, frame.bottom(), frame.left + frame.width, frame.bottom(), kAxis);
  return out.str(use);
}

std::string svg(const GanttChart& chart, Use use) {
  if (chart.lanes.empty() || chart.boxes.empty()) {
    throw Error("chart: '" + chart.title + "' has no data");
  }
  double end = 0, widest = 0;
  for (const GanttBox& box : chart.boxes) {
    check_finite(box.start, "box '" + box.label + "'");
    check_finite(box.end, "box '" + box.label + "'");
    if (box.lane >= chart.lanes.size() || box.start < 0 || box.end < box.start) {
      throw Error("chart: box '" + box.label + "' is on no lane or ends before it starts");
    }
    end = std::max(end, box.end);
  }
  for (const auto& lane : chart.lanes) widest = std::max(widest, text_width(lane, 11));
  const std::vector<std::string> kinds = kinds_of(chart);
  const double lane_height = 26;
  Frame frame = make_frame(
      chart.title, chart.x_title, "", boxes_of(kinds),
      {860, lane_height * static_cast<double>(chart.lanes.size()), widest + 24, 56}, use);
  const auto x_of = draw_x_axis(frame, axis_ticks(0, end, 10));
  for (size_t lane = 0; lane < chart.lanes.size(); ++lane) {
    const double y = frame.top + lane_height * (static_cast<double>(lane) + 0.65);
    frame.drawing.text(frame.left - 8, y, chart.lanes[lane], "end", 11);
  }
  for (const GanttBox& box : chart.boxes) {
    const auto kind =
        static_cast<size_t>(std::find(kinds.begin(), kinds.end(), box.kind) - kinds.begin());
    const double y = frame.top + lane_height * static_cast<double>(box.lane) + 2;
    const double x = x_of(box.start), width = x_of(box.end) - x;
    frame.drawing.rect(
        x, y, width, lane_height - 4, colour_of(kind),
        core::cat(box.label, " ", core::shortest(box.start), "-", core::shortest(box.end)), "box");
    if (text_width(box.label, 11) < width) {
      frame.drawing.text(x + width / 2, y + 15, box.label, "middle", 11, 0, "on");
    }
  }
  return frame.drawing.str(use);
}

}  // namespace adagp::report

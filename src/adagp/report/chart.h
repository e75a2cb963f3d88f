#pragma once
// The project's pictures, as SVG: bars (grouped, stacked or both), lines, and boxes on lanes.
// Every function throws Error when the data do not fit together or are not finite.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace adagp::report {

struct BarSeries {
  std::string name;            // in the legend
  std::vector<double> values;  // one per category, none negative
  int stack = 0;  // series of one stack stand on each other, stacks of a category side by side
};

struct BarChart {
  std::string title, x_title, y_title;
  std::vector<std::string> categories;
  std::vector<BarSeries> series;
  double reference = 0;  // a line across at this height; 0 = none
};

enum class Stroke { kSolid, kDashed, kDotted, kNone };

struct LineSeries {
  std::string name;                                 // empty: not in the legend
  std::vector<std::pair<double, double>> points{};  // x, y
  Stroke stroke = Stroke::kSolid;
  int marker = 0;                // at the points: 0 none, then circle, square, triangle, diamond
  int colour = -1;               // place among the colours; -1: the series' own place
  std::vector<double> errors{};  // half the height of a bar at each point, or empty
  std::vector<std::string> labels{};  // what the points' tips say after the name, or empty
};

// After so many series colours come again.
size_t colour_count();

struct LineChart {
  std::string title, x_title, y_title;
  std::vector<LineSeries> series;
  bool log_x = false;     // all x above 0
  bool from_zero = true;  // the vertical axis begins at 0 or below
};

struct GanttBox {
  size_t lane = 0;
  double start = 0, end = 0;
  std::string label;
  std::string kind;  // boxes of a kind share a colour and a line of the legend
};

struct GanttChart {
  std::string title, x_title;
  std::vector<std::string> lanes;
  std::vector<GanttBox> boxes;
};

std::string svg(const BarChart& chart);
std::string svg(const LineChart& chart);
std::string svg(const GanttChart& chart);

}  // namespace adagp::report

#pragma once
// The project's pictures, as SVG: bars (grouped, stacked or both), lines with bands, points, boxes
// on lanes, heat maps, and intervals beside each other. Every function throws Error when the data
// do not fit together or are not finite.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "adagp/results/report/svg.h"

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

enum class Stroke { kSolid, kDashed, kDotted, kDashDotted, kNone };

struct LineSeries {
  std::string name;                                 // empty: not in the legend
  std::vector<std::pair<double, double>> points{};  // x, y
  Stroke stroke = Stroke::kSolid;
  int marker = 0;                // at the points: 0 none, then circle, square, triangle, diamond
  int colour = -1;               // place among the colours; -1: the series' own place
  std::vector<double> errors{};  // half the height of a bar at each point, or empty
  std::vector<std::string> labels{};  // what the points' tips say after the name, or empty
  std::vector<std::pair<double, double>> band{};  // lowest and highest at each point, or empty
};

// After so many series colours come again.
size_t colour_count();

struct LineChart {
  std::string title, x_title, y_title;
  std::vector<LineSeries> series;
  bool log_x = false;     // all x above 0
  bool from_zero = true;  // the vertical axis begins at 0 or below
  bool log_y = false;     // all y above 0; then from_zero does not matter
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

// Rows of coloured cells: below 0 in one colour, above 0 in another.
struct HeatMap {
  std::string title, x_title;
  std::vector<std::string> rows;
  std::vector<double> columns;              // what stands below them
  std::vector<std::vector<double>> values;  // by row; not finite: an empty cell
  double limit = 1;                         // values beyond -limit and limit have the end's colour
  std::vector<std::pair<double, std::string>> keys{};  // values of the legend, and what they mean
};
// The place of a value among the kHeatColours.
int heat_colour(double value, double limit);

// Values with their intervals, below each other, and a line at 0.
struct IntervalChart {
  struct Row {
    std::string label;
    double value = 0, low = 0, high = 0;  // low and high may be missing (not finite)
  };
  std::string title, x_title;
  std::vector<Row> rows;
};

std::string svg(const BarChart& chart, Use use = Use::kFile);
std::string svg(const LineChart& chart, Use use = Use::kFile);
std::string svg(const GanttChart& chart, Use use = Use::kFile);
std::string svg(const HeatMap& chart, Use use = Use::kFile);
std::string svg(const IntervalChart& chart, Use use = Use::kFile);

}  // namespace adagp::report

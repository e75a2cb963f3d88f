#pragma once
// A chart of lines whose axes the reader may choose.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adagp/results/page/parts.h"

namespace adagp::page {

// Values of a line on one vertical axis; NaN: no point there. Empty low and high: no band.
struct Values {
  std::vector<double> value, low, high;
};

struct Line {
  std::string name;                              // empty: not in the legend
  size_t style = 0;                              // place among colours and strokes
  int marker = 0;                                // as in report::LineSeries
  std::optional<report::Stroke> stroke;          // else by its place
  std::map<std::string, std::vector<double>> x;  // by the axis' key
  std::map<std::string, Values> y;
  std::vector<std::string> labels;  // of the points, or empty
};

struct LineFigure {
  std::string id, title, about, table;
  std::vector<Line> lines;
  std::vector<std::pair<std::string, std::string>> x_axes,
      y_axes;  // key, title; the first is drawn
  bool log_x = false, log_y = false, smooth = false;
};

// Adds the figure; nothing when no line has a point.
void add_lines(Page& page, const LineFigure& figure);

// At most `most` of `count` places, evenly, with the first and the last.
std::vector<size_t> thinned(size_t count, size_t most);

}  // namespace adagp::page

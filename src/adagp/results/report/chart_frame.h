#pragma once
// What every chart is drawn in: the room for the data, axes, titles and the legend.

#include <functional>
#include <string>
#include <vector>

#include "adagp/results/report/chart.h"
#include "adagp/results/report/svg.h"

namespace adagp::report {

inline constexpr const char* kAxis = "axis";

std::string colour_of(size_t index);  // "s0", ...; again from its start after its end
std::string dash_of(Stroke stroke);
// Throws Error naming `what`.
void check_finite(double value, const std::string& what);

// The rectangle the data are drawn in, and the drawing around it.
struct Frame {
  Svg drawing;
  double left, top, width, height;
  Use use = Use::kFile;

  double bottom() const { return top + height; }
};

struct Room {
  double width, height;          // of the data
  double left = 74, below = 56;  // labels of the axes
};

// A line of the legend: a box, or a piece of the line as it is drawn.
struct Key {
  std::string name, colour;
  const LineSeries* line = nullptr;
};

std::vector<Key> boxes_of(const std::vector<std::string>& names);
std::vector<Key> legend_of(const BarChart& chart);
std::vector<Key> legend_of(const GanttChart& chart);
std::vector<Key> legend_of(const HeatMap& chart);

// A page has title and legend around its drawings: they are left out there.
Frame make_frame(const std::string& title, const std::string& x_title, const std::string& y_title,
                 const std::vector<Key>& legend, const Room& room, Use use = Use::kFile);

// Grid lines and numbers of an axis; they return what maps a value to its place in pixels.
using Place = std::function<double(double)>;
Place draw_y_axis(Frame& frame, const std::vector<double>& ticks, bool log = false);
Place draw_x_axis(Frame& frame, const std::vector<double>& ticks, bool log = false);

// Tells a page's script where the data are drawn and which values the ends of the axes have.
void note_scales(Frame& frame, const std::vector<double>& x_ticks,
                 const std::vector<double>& y_ticks);

}  // namespace adagp::report

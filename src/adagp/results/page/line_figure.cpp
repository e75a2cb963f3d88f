#include "adagp/results/page/line_figure.h"

#include <cmath>
#include <iterator>

namespace adagp::page {
namespace {

using report::Stroke;

// Neighbours differ in their strokes too, not in their colours alone.
Stroke stroke_of(const Line& line) {
  if (line.stroke) return *line.stroke;
  constexpr Stroke kInTurn[] = {Stroke::kSolid, Stroke::kDashed, Stroke::kDotted,
                                Stroke::kDashDotted};
  return kInTurn[line.style % std::size(kInTurn)];
}

report::LineSeries drawn(const Line& line, const LineFigure& figure) {
  report::LineSeries series;
  series.name = line.name;
  series.stroke = stroke_of(line);
  series.marker = line.marker;
  series.colour = static_cast<int>(line.style % report::colour_count());
  const auto x = line.x.find(figure.x_axes[0].first);
  const auto y = line.y.find(figure.y_axes[0].first);
  if (x == line.x.end() || y == line.y.end()) return series;
  const Values& values = y->second;
  for (size_t i = 0; i < x->second.size(); ++i) {
    if (!std::isfinite(x->second[i]) || !std::isfinite(values.value[i])) continue;
    series.points.emplace_back(x->second[i], values.value[i]);
    if (!line.labels.empty()) series.labels.push_back(line.labels[i]);
    if (!values.low.empty()) series.band.emplace_back(values.low[i], values.high[i]);
  }
  return series;
}

Json line_json(const Line& line) {
  Json out = {{"n", line.name},
              {"c", line.style % report::colour_count()},
              {"d", report::dash_of(stroke_of(line))},
              {"m", line.marker}};
  if (stroke_of(line) == Stroke::kNone) out["p"] = true;
  for (const auto& [key, values] : line.x) out["x"][key] = rounded(values);
  for (const auto& [key, values] : line.y) {
    out["y"][key]["v"] = rounded(values.value);
    if (!values.low.empty()) {
      out["y"][key]["l"] = rounded(values.low);
      out["y"][key]["h"] = rounded(values.high);
    }
  }
  if (!line.labels.empty()) out["t"] = line.labels;
  return out;
}

}  // namespace

std::vector<size_t> thinned(size_t count, size_t most) {
  std::vector<size_t> out;
  const size_t wanted = std::min(count, most);
  for (size_t i = 0; i < wanted; ++i) {
    out.push_back(wanted == 1 ? count - 1 : i * (count - 1) / (wanted - 1));
  }
  return out;
}

void add_lines(Page& page, const LineFigure& figure) {
  report::LineChart chart;
  chart.x_title = figure.x_axes.at(0).second;
  chart.y_title = figure.y_axes.at(0).second;
  chart.log_x = figure.log_x;
  chart.log_y = figure.log_y;
  chart.from_zero = false;
  Figure out;
  bool any = false;
  for (const Line& line : figure.lines) {
    chart.series.push_back(drawn(line, figure));
    any = any || !chart.series.back().points.empty();
  }
  if (!any) return;
  for (const report::LineSeries& series : chart.series) {
    if (series.name.empty()) continue;
    out.legend.push_back(
        {series.name, report::colour_of(static_cast<size_t>(series.colour)), &series});
  }
  out.id = figure.id;
  out.title = figure.title;
  out.about = figure.about;
  out.table = figure.table;
  out.svg = report::svg(chart, report::Use::kPage);
  out.data = {{"k", "lines"}};
  for (const auto& [key, title] : figure.x_axes) out.data["x"].push_back({key, title});
  for (const auto& [key, title] : figure.y_axes) out.data["y"].push_back({key, title});
  if (figure.log_x) out.data["lx"] = true;
  if (figure.log_y) out.data["ly"] = true;
  if (figure.smooth) out.data["smooth"] = true;
  out.data["s"] = Json::array();
  for (const Line& line : figure.lines) out.data["s"].push_back(line_json(line));
  page.add(out);
}

}  // namespace adagp::page

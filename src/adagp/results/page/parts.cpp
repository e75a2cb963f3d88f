#include "adagp/results/page/parts.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>

#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"

namespace adagp::page {
namespace {

// A piece of the line, or a box: as in the drawing.
std::string swatch(const report::Key& key) {
  report::Svg drawing(26, 12);
  if (key.line == nullptr) {
    drawing.rect(7, 0, 12, 12, key.colour);
  } else {
    if (key.line->stroke != report::Stroke::kNone) {
      drawing.path({{1, 6}, {25, 6}}, key.colour, report::dash_of(key.line->stroke));
    }
    if (key.line->marker > 0) drawing.marker(13, 6, key.line->marker, key.colour);
  }
  return drawing.str(report::Use::kPage);
}

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

std::string safe(std::string_view text) {
  return core::xml_escape(core::printable(text), /*attribute=*/true);
}

std::string paragraphs(const std::string& text) {
  std::string out;
  size_t start = 0;
  while (start < text.size()) {
    const size_t end = std::min(text.find("\n\n", start), text.size());
    out += "<p>" + safe(core::trim(text.substr(start, end - start))) + "</p>\n";
    start = end + 2;
  }
  return out;
}

Json rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  char text[40];
  std::snprintf(text, sizeof text, "%.5g", value);
  return std::strtod(text, nullptr);
}

Json rounded(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double value : values) out.push_back(rounded(value));
  return out;
}

std::string heading(int level, const std::string& id, const std::string& text) {
  return core::cat("<h", level, " id=\"", id, "\">", safe(text), "</h", level, ">\n");
}

void Page::add(const Figure& figure) {
  const std::string id = safe(figure.id);
  body += "<figure class=\"chart\" id=\"" + id + "\">\n<figcaption>" + safe(figure.title) +
          "</figcaption>\n<div class=\"plot\" tabindex=\"0\" role=\"img\" aria-label=\"" +
          safe(figure.title + ". " + figure.about) + "\">\n" + figure.svg + "</div>\n";
  if (!figure.legend.empty()) {
    body += "<ul class=\"legend\">\n";
    for (const report::Key& key : figure.legend) {
      body += "<li data-colour=\"" + key.colour + "\">" + swatch(key) + "<span>" + safe(key.name) +
              "</span></li>\n";
    }
    body += "</ul>\n";
  }
  if (!figure.about.empty()) body += "<p class=\"about\">" + safe(figure.about) + "</p>\n";
  if (!figure.table.empty()) {
    body += "<details><summary>Data of this chart as a table</summary>\n";
    add_table(figure.table, "Data: " + figure.title);
    body += "</details>\n";
  }
  body += "</figure>\n";
  charts[figure.id] = figure.data;
}

void Page::add_table(const std::string& table, const std::string& name) {
  body += "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"" + safe(name) +
          "\">\n" + table + "</div>\n";
}

double number_in(const nlohmann::json& json, const char* key) {
  const nlohmann::json& found = inside(json, key);
  return found.is_number() ? found.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::string text_in(const nlohmann::json& json, const char* key) {
  const nlohmann::json& found = inside(json, key);
  if (found.is_string()) return found.get<std::string>();
  return found.is_number() ? core::shortest(found.get<double>()) : "";
}

const nlohmann::json& inside(const nlohmann::json& json, const char* key) {
  static const nlohmann::json kNothing;
  if (!json.is_object()) return kNothing;
  const auto found = json.find(key);
  return found == json.end() ? kNothing : *found;
}

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

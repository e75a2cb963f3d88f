#include "adagp/results/report/svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/table.h"

namespace adagp::report {
namespace {

std::string svg_number(double value) {
  return core::fixed(value, 2);
}

// Escaped, without what XML cannot hold: control characters and bytes that are not UTF-8.
std::string svg_text(const std::string& text) {
  std::string out;
  size_t broken = core::broken_utf8(text);
  for (size_t i = 0; i < text.size(); ++i) {
    if (i != broken) {
      out += static_cast<unsigned char>(text[i]) < 0x20 ? ' ' : text[i];
      continue;
    }
    out += "\uFFFD";  // what Unicode has for it
    broken = core::broken_utf8(std::string_view(text).substr(i + 1));
    if (broken != std::string::npos) broken += i + 1;
  }
  return core::xml_escape(out, /*attribute=*/true);
}

std::string attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + svg_number(value) + "\"";
}

std::string attribute(const char* name, const std::string& value) {
  return std::string(" ") + name + "=\"" + svg_text(value) + "\"";
}

std::string filled(const std::string& colour, const std::string& kind = "") {
  return attribute("class", "f" + colour + (kind.empty() ? "" : " " + kind));
}

std::string point_list(const std::vector<std::pair<double, double>>& points) {
  std::string list;
  for (const auto& [x, y] : points) {
    list += (list.empty() ? "" : " ") + svg_number(x) + "," + svg_number(y);
  }
  return list;
}

std::string mixed(const int (&from)[3], const int (&to)[3], double share) {
  char out[8];
  int part[3];
  for (int i = 0; i < 3; ++i) {
    part[i] = static_cast<int>(std::lround(from[i] + share * (to[i] - from[i])));
  }
  std::snprintf(out, sizeof out, "#%02x%02x%02x", part[0] & 255, part[1] & 255, part[2] & 255);
  return out;
}

void add_heat(std::vector<NamedColour>& colours) {
  constexpr int kBlue[] = {0, 84, 150}, kOrange[] = {179, 84, 0};
  constexpr int kLightBlue[] = {86, 180, 233}, kLightOrange[] = {240, 160, 40};
  constexpr int kWhite[] = {245, 245, 245}, kBlack[] = {38, 42, 50};
  constexpr int kMiddle = kHeatColours / 2;
  for (int i = 0; i < kHeatColours; ++i) {
    const double share = std::abs(i - kMiddle) / double{kMiddle};
    const bool below = i < kMiddle;
    colours.push_back({core::cat("h", i), mixed(kWhite, below ? kOrange : kBlue, share),
                       mixed(kBlack, below ? kLightOrange : kLightBlue, share)});
  }
}

std::vector<NamedColour> all_colours() {
  std::vector<NamedColour> out = {
      {"s0", "#0072b2", "#4da6e0"},   {"s1", "#a66900", "#f0b03c"},
      {"s2", "#007d5a", "#2fc79a"},   {"s3", "#d55e00", "#f58b45"},
      {"s4", "#b8578c", "#dd97bd"},   {"s5", "#2a8cc4", "#7cc7f0"},
      {"s6", "#767676", "#b0b0b0"},   {"s7", "#8a7e00", "#d2c52e"},
      {"s8", "#882255", "#d06f9f"},   {"s9", "#2b8577", "#62c4b4"},
      {"s10", "#7d7d1f", "#bdbd5a"},  {"s11", "#aa4499", "#d583c8"},
      {"axis", "#444444", "#aab2bd"}, {"grid", "#dddddd", "#3a414c"},
      {"ink", "#222222", "#e8eaed"},  {"paper", "#ffffff", "#16191f"},
  };
  add_heat(out);
  return out;
}

}  // namespace

std::string axis_number(double value) {
  static constexpr std::pair<double, const char*> kUnits[] = {
      {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [factor, unit] : kUnits) {
    if (std::fabs(value) >= factor)
      return core::shortest(std::round(value / factor * 1e3) / 1e3) + unit;
  }
  return core::shortest(std::round(value * 1e6) / 1e6);
}

std::vector<double> axis_ticks(double low, double high, int count) {
  // Beyond this numbers have no neighbours to step to, and a range may be infinite.
  constexpr double kLargest = 1e300, kFinest = 1e-12;
  low = std::clamp(low, -kLargest, kLargest);
  high = std::clamp(high, -kLargest, kLargest);
  const double least = std::max(std::abs(low), std::abs(high)) * kFinest;
  if (!(high - low > 1e-300)) high = low + std::max(1.0, least);
  const double rough = std::max((high - low) / count, std::max(least, 1e-300));
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.5, 2.0, 1.0}) {
    if (factor * power >= rough * (1 - 1e-9)) step = factor * power;
  }
  std::vector<double> ticks;
  for (double i = std::floor(low / step);; ++i) {
    ticks.push_back(i * step);
    if (i * step >= high - 1e-9 * step) break;
  }
  return ticks;
}

std::vector<double> log_ticks(double low, double high) {
  low = std::clamp(low, 1e-300, 1e300);
  high = std::clamp(high, low, 1e300);
  const double ratio = high / low;
  const std::vector<double> steps = ratio < 8     ? std::vector<double>{1, 1.5, 2, 3, 4, 5, 6, 8}
                                    : ratio < 200 ? std::vector<double>{1, 2, 5}
                                                  : std::vector<double>{1};
  std::vector<double> ticks;
  for (double power = std::pow(10, std::floor(std::log10(low)));; power *= 10) {
    for (const double step : steps) {
      const double tick = step * power;
      if (tick <= low * (1 + 1e-9)) ticks.clear();
      ticks.push_back(tick);
      if (ticks.size() > 1 && tick >= high * (1 - 1e-9)) return ticks;
    }
  }
}

double text_width(const std::string& text, double size) {
  return 0.58 * size * static_cast<double>(display_width(text));
}

void Svg::rect(double x, double y, double width, double height, const std::string& colour,
               const std::string& about, const std::string& kind) {
  body_ += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
           attribute("height", height) + filled(colour, kind);
  body_ += about.empty() ? "/>\n" : "><title>" + svg_text(about) + "</title></rect>\n";
}

void Svg::line(double x1, double y1, double x2, double y2, const std::string& colour,
               double width) {
  body_ += "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
           attribute("y2", y2) + attribute("class", "l" + colour) +
           attribute("stroke-width", width) + "/>\n";
}

void Svg::path(const std::vector<std::pair<double, double>>& points, const std::string& colour,
               const std::string& dash) {
  body_ += "<polyline fill=\"none\" stroke-width=\"2\"" + attribute("class", "l" + colour);
  if (!dash.empty()) body_ += attribute("stroke-dasharray", dash);
  body_ += attribute("points", point_list(points)) + "/>\n";
}

void Svg::marker(double x, double y, int shape, const std::string& colour,
                 const std::string& about) {
  // Corners of shapes of about equal area.
  static const std::vector<std::pair<double, double>> kShapes[] = {
      {{-4, -4}, {4, -4}, {4, 4}, {-4, 4}},
      {{0, -5.5}, {5.5, 4}, {-5.5, 4}},
      {{0, -6}, {6, 0}, {0, 6}, {-6, 0}}};
  const auto index = static_cast<size_t>(shape - 1) % 4;
  const std::string kind = index == 0 ? "circle" : "polygon";
  body_ += "<" + kind;
  if (index == 0) {
    body_ += attribute("cx", x) + attribute("cy", y) + attribute("r", 4.5);
  } else {
    auto corners = kShapes[index - 1];
    for (auto& [cx, cy] : corners) cx += x, cy += y;
    body_ += attribute("points", point_list(corners));
  }
  body_ += filled(colour, "marker");
  body_ += about.empty() ? "/>\n" : "><title>" + svg_text(about) + "</title></" + kind + ">\n";
}

void Svg::polygon(const std::vector<std::pair<double, double>>& points, const std::string& colour,
                  const std::string& kind) {
  body_ += "<polygon" + attribute("points", point_list(points)) + filled(colour, kind) + "/>\n";
}

void Svg::cells(const std::vector<std::array<double, 4>>& boxes, const std::string& colour) {
  std::string d;
  for (const auto& [x, y, width, height] : boxes) {
    d += core::cat("M", core::shortest(x), " ", core::shortest(y), "h", core::shortest(width), "v",
                   core::shortest(height), "h", core::shortest(-width), "z");
  }
  body_ += "<path" + filled(colour) + attribute("d", d) + "/>\n";
}

void Svg::note(const std::string& name, const std::string& value) {
  notes_ += attribute(("data-" + name).c_str(), value);
}

void Svg::text(double x, double y, const std::string& text, const std::string& anchor, double size,
               double turn, const std::string& kind) {
  body_ += "<text" + attribute("x", x) + attribute("y", y) + attribute("font-size", size) +
           attribute("text-anchor", anchor);
  if (!kind.empty()) body_ += attribute("class", kind);
  if (turn != 0) {
    body_ += attribute("transform", "rotate(" + svg_number(turn) + " " + svg_number(x) + " " +
                                        svg_number(y) + ")");
  }
  body_ += ">" + svg_text(text) + "</text>\n";
}

std::string Svg::str(Use use) const {
  const std::string width = svg_number(width_), height = svg_number(height_);
  const std::string box = "viewBox=\"0 0 " + width + " " + height + "\"";
  if (use == Use::kPage) {
    // The words around it say what it shows; its width is in the style, so that it may shrink.
    return "<svg aria-hidden=\"true\" class=\"fink\" " + box + " width=\"" + width + "\"" + notes_ +
           ">\n" + body_ + "</svg>\n";
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
         width + "\" height=\"" + height + "\" " + box +
         " font-family=\"sans-serif\" class=\"fink\">\n<style>" + chart_style(false) +
         "</style>\n<rect width=\"100%\" height=\"100%\" class=\"fpaper\"/>\n" + body_ + "</svg>\n";
}

std::string below_each_other(const std::vector<std::string>& drawings) {
  const auto size_in = [](const std::string& drawing, const std::string& name) {
    const size_t begin = drawing.find(" " + name + "=\"") + name.size() + 3;
    return std::stod(drawing.substr(begin, drawing.find('"', begin) - begin));
  };
  double width = 0, height = 0;
  std::string body;
  for (const std::string& drawing : drawings) {
    std::string inner = drawing.substr(drawing.find("<svg"));
    inner.insert(std::string("<svg").size(), attribute("y", height));
    body += inner;
    width = std::max(width, size_in(drawing, "width"));
    height += size_in(drawing, "height");
  }
  const std::string size = attribute("width", width) + attribute("height", height);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"" +
         size + ">\n" + body + "</svg>\n";
}

// The colours of charts. Series have Okabe and Ito's colours and some of Tol's, which readers with
// any colour vision tell apart, darker or lighter where a line would have too little contrast (3 :
// 1) with the paper of its theme.
const std::vector<NamedColour>& chart_colours() {
  static const std::vector<NamedColour> kAll = all_colours();
  return kAll;
}

std::string chart_style(bool variables) {
  const auto value = [&](const NamedColour& colour) {
    return variables ? "var(--" + colour.name + ")" : colour.light;
  };
  std::string out, paper;
  for (const NamedColour& colour : chart_colours()) {
    const std::string set = value(colour);
    out += ".f" + colour.name + "{fill:" + set + "}";
    if (colour.name[0] != 'h') out += ".l" + colour.name + "{stroke:" + set + "}";
    if (colour.name == "paper") paper = set;
  }
  return out + ".marker{stroke:" + paper + "}.band{fill-opacity:.13}.on{fill:" + paper +
         "}[hidden]{display:none}";
}

}  // namespace adagp::report

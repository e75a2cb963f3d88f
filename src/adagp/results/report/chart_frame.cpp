#include "adagp/results/report/chart_frame.h"

#include <algorithm>
#include <cmath>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::report {
namespace {

constexpr const char* kGrid = "grid";
constexpr double kLegendRow = 18, kLetter = 12;

void draw_key(Svg& out, double x, double y, const Key& key) {
  if (key.line == nullptr) {
    out.rect(x, y, 12, 12, key.colour, "", "legend");
    return;
  }
  if (key.line->stroke != Stroke::kNone) {
    out.path({{x - 8, y + 6}, {x + 12, y + 6}}, key.colour, dash_of(key.line->stroke));
  }
  if (key.line->marker > 0) out.marker(x + 2, y + 6, key.line->marker, key.colour);
}

}  // namespace

size_t colour_count() {
  return kSeriesColours;
}

std::string colour_of(size_t index) {
  return core::cat("s", index % kSeriesColours);
}

std::string dash_of(Stroke stroke) {
  return stroke == Stroke::kDashed       ? "7 4"
         : stroke == Stroke::kDotted     ? "2 3"
         : stroke == Stroke::kDashDotted ? "9 3 2 3"
                                         : "";
}

void check_finite(double value, const std::string& what) {
  if (!std::isfinite(value)) throw Error("chart: " + what + " has a value that is not finite");
}

std::vector<Key> boxes_of(const std::vector<std::string>& names) {
  std::vector<Key> keys;
  for (size_t i = 0; i < names.size(); ++i) keys.push_back({names[i], colour_of(i)});
  return keys;
}

Frame make_frame(const std::string& title, const std::string& x_title, const std::string& y_title,
                 const std::vector<Key>& every_key, const Room& room, Use use) {
  const bool page = use == Use::kPage;
  const std::vector<Key> legend = page ? std::vector<Key>{} : every_key;
  const std::string heading = page ? "" : title;
  double beside = 24;
  for (const auto& key : legend) beside = std::max(beside, text_width(key.name, kLetter) + 44);
  const double top = heading.empty() ? 20 : 44;
  const double least = top + 20 + kLegendRow * static_cast<double>(legend.size());
  constexpr double kTitle = 16, kYTitle = 56;  // its distance from the axis
  const double total_width =
      room.left + std::max(room.width + beside, text_width(heading, kTitle) + 24);
  Frame frame{Svg(total_width, std::max(top + room.height + room.below, least)),
              room.left,
              top,
              room.width,
              room.height,
              use};
  Svg& out = frame.drawing;
  if (!heading.empty()) out.text(room.left, 26, heading, "start", kTitle);
  out.text(room.left + room.width / 2, frame.bottom() + room.below - 12, x_title, "middle");
  if (!y_title.empty()) {
    out.text(room.left - kYTitle, top + room.height / 2, y_title, "middle", kLetter, -90);
  }
  for (size_t i = 0; i < legend.size(); ++i) {
    const double x = room.left + room.width + 16, y = top + kLegendRow * static_cast<double>(i);
    draw_key(out, x, y, legend[i]);
    out.text(x + 18, y + 10.5, legend[i].name);
  }
  return frame;
}

Place draw_y_axis(Frame& frame, const std::vector<double>& ticks, bool log) {
  const auto scaled = [log](double value) { return log ? std::log(value) : value; };
  const double low = scaled(ticks.front()), high = scaled(ticks.back());
  const double bottom = frame.bottom(), height = frame.height;
  const auto y_of = [=](double y) { return bottom - (scaled(y) - low) / (high - low) * height; };
  for (const double tick : ticks) {
    frame.drawing.line(frame.left, y_of(tick), frame.left + frame.width, y_of(tick), kGrid);
    frame.drawing.text(frame.left - 8, y_of(tick) + 4, axis_number(tick), "end", 11);
  }
  return y_of;
}

Place draw_x_axis(Frame& frame, const std::vector<double>& ticks, bool log) {
  const auto scaled = [log](double value) { return log ? std::log(value) : value; };
  const double low = scaled(ticks.front()), high = scaled(ticks.back());
  const double left = frame.left, width = frame.width;
  const auto x_of = [=](double x) { return left + (scaled(x) - low) / (high - low) * width; };
  for (const double tick : ticks) {
    frame.drawing.line(x_of(tick), frame.top, x_of(tick), frame.bottom(), kGrid);
    frame.drawing.text(x_of(tick), frame.bottom() + 16, axis_number(tick), "middle", 11);
  }
  return x_of;
}

void note_scales(Frame& frame, const std::vector<double>& x_ticks,
                 const std::vector<double>& y_ticks) {
  frame.drawing.note(
      "frame", core::cat(frame.left, " ", frame.top, " ", frame.width, " ", frame.height, " ",
                         core::shortest(x_ticks.front()), " ", core::shortest(x_ticks.back()), " ",
                         core::shortest(y_ticks.front()), " ", core::shortest(y_ticks.back())));
}

}  // namespace adagp::report

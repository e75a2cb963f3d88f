#pragma once
// The pieces of an SVG drawing, written as text. Numbers have two digits, so equal data give equal
// bytes.

#include <string>
#include <vector>

namespace adagp::report {

// "1.5M", "200k", "0.25": an axis has no room for more.
std::string axis_number(double value);

// Round steps (1, 2, 2.5 or 5 times a power of ten) from `low` to a value not below `high`, about
// `count` of them.
std::vector<double> axis_ticks(double low, double high, int count = 6);

// For a logarithmic axis: round numbers from one not above `low` to one not below `high`, closer
// together the narrower the range. Both are above 0.
std::vector<double> log_ticks(double low, double high);

// Pixels of a text in the drawing's font, roughly: letters differ, and a margin hides it.
double text_width(const std::string& text, double size);

class Svg {
 public:
  Svg(double width, double height) : width_(width), height_(height) {}

  // `about` becomes the tooltip when it is not empty. `kind` is the element's class.
  void rect(double x, double y, double width, double height, const std::string& colour,
            const std::string& about = "", const std::string& kind = "");
  void line(double x1, double y1, double x2, double y2, const std::string& colour,
            double width = 1);
  // `dash`: lengths of stroke and gap, "" for none.
  void path(const std::vector<std::pair<double, double>>& points, const std::string& colour,
            const std::string& dash = "");
  // `shape` counts circle, square, triangle, diamond from 1 and starts again after them.
  void marker(double x, double y, int shape, const std::string& colour,
              const std::string& about = "");
  // `anchor`: start, middle or end; `turn`: degrees clockwise about (x, y).
  void text(double x, double y, const std::string& text, const std::string& anchor = "start",
            double size = 12, double turn = 0);

  std::string str() const;  // the whole file

 private:
  double width_, height_;
  std::string body_;
};

}  // namespace adagp::report

#pragma once
// The pieces of an SVG drawing, written as text. Numbers have two digits, so equal data give equal
// bytes. Elements name their colours by classes: a file brings its style sheet, a page has one of
// its own, with a light and a dark theme.

#include <array>
#include <string>
#include <utility>
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

// A drawing in a file of its own, or inside an HTML page.
enum class Use { kFile, kPage };

// Classes of colours: "s0", "s1", ... of the series, "h0" to "h20" of a heat map from its lowest to
// its highest value, "axis", "grid", "ink" and "paper". An element filled with one has "f" before
// its name, one drawn with it "l".
inline constexpr int kSeriesColours = 12, kHeatColours = 21;
struct NamedColour {
  std::string name, light, dark;
};
const std::vector<NamedColour>& chart_colours();
// The rules of these classes. With `variables` colours are CSS variables ("--s0").
std::string chart_style(bool variables);

class Svg {
 public:
  Svg(double width, double height) : width_(width), height_(height) {}

  // `colour`: the name of a class of colours. `about` becomes the tooltip when it is not empty.
  // `kind` is another class of the element.
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
  void polygon(const std::vector<std::pair<double, double>>& points, const std::string& colour,
               const std::string& kind = "");
  // Many rectangles of one colour in one element: x, y, width, height.
  void cells(const std::vector<std::array<double, 4>>& boxes, const std::string& colour);
  // `anchor`: start, middle or end; `turn`: degrees clockwise about (x, y).
  void text(double x, double y, const std::string& text, const std::string& anchor = "start",
            double size = 12, double turn = 0, const std::string& kind = "");

  // What a script reads from the page's drawing: an attribute data-<name>.
  void note(const std::string& name, const std::string& value);

  std::string str(Use use = Use::kFile) const;

 private:
  double width_, height_;
  std::string body_, notes_;
};

// Drawings of files, one below the other in a file.
std::string below_each_other(const std::vector<std::string>& drawings);

}  // namespace adagp::report

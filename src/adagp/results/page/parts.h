#pragma once
// The pieces of the page, which its sections are made of.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/results/report/chart_frame.h"
#include "adagp/results/report/table.h"

namespace adagp::page {

using Json = nlohmann::ordered_json;

// Any text as the text of an element or the value of an attribute.
std::string safe(std::string_view text);
// <p> for every paragraph of a text.
std::string paragraphs(const std::string& text);
// A number for the script: five digits; null when it is not finite.
Json rounded(double value);
Json rounded(const std::vector<double>& values);

// A chart with everything around it.
struct Figure {
  std::string id;  // letters, digits and -
  std::string title;
  std::string about;  // a sentence below the chart: what it shows, how to read it
  std::string svg;    // of report::svg(..., Use::kPage)
  std::vector<report::Key> legend;
  std::string table;              // the data as <table>
  Json data = {{"k", "static"}};  // what the script needs; static: nothing can be changed
};

// The page as it grows: its text, and the data of its charts by their ids.
struct Page {
  std::string body;
  Json charts = Json::object();

  void add(const Figure& figure);
  // A table that may be wider than the screen.
  void add_table(const std::string& table, const std::string& name);
};

// The script of every page.
std::string page_script();

// Where a section starts, for the list at the top.
std::string heading(int level, const std::string& id, const std::string& text);

// Values of a JSON file that may hold anything: what is missing or of another type is NaN or "".

double number_in(const nlohmann::json& json, const char* key);
std::string text_in(const nlohmann::json& json, const char* key);  // numbers as text, too
// The object or list below a key, or an empty one.
const nlohmann::json& inside(const nlohmann::json& json, const char* key);

// A chart of lines whose axes the reader may choose.

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

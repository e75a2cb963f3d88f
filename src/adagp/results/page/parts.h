#pragma once
// The pieces of the page, which its sections are made of.

#include <string>
#include <string_view>
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

}  // namespace adagp::page

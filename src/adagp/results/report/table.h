#pragma once
// A table of text cells, written for a console, as GitHub Markdown or as CSV.

#include <string>
#include <string_view>
#include <vector>

namespace adagp::report {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kRight;
};

// "<method": aligned left.
std::vector<Column> titled(const std::vector<std::string>& titles);

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  explicit Table(const std::vector<std::string>& titles) : Table(titled(titles)) {}

  // One cell per column; throws Error otherwise.
  void add_row(std::vector<std::string> cells);
  size_t rows() const { return rows_.size(); }

  // Cells may be foreign text (core/foreign_text.h): console and markdown make it printable.
  std::string console() const;   // aligned, a rule under the titles, two spaces between columns
  std::string markdown() const;  // bars and line breaks inside cells escaped
  std::string csv() const;       // core::csv_cell(), lines end with \n
  // <table> with a caption; the first cell of each row is its heading.
  std::string html(const std::string& caption) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Cells a terminal gives to UTF-8 text: combining marks take none, East Asian wide letters and
// emoji two. Good for names and numbers, not a full Unicode implementation.
size_t display_width(std::string_view text);

// Cells of numbers, of which some do not exist.
std::string number_or_dash(double value, int digits, const char* unit = "");
std::string exact_number(double value);            // unrounded; empty when it does not exist
std::string signed_points(double value);           // "+1.50"
std::string with_spread(double value, double sd);  // "88.63 ± 0.04", "88.63" without, "-"

}  // namespace adagp::report

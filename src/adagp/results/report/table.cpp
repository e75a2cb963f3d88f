#include "adagp/results/report/table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"

namespace adagp::report {
namespace {

// The code point at `at`, which moves behind it. A broken byte counts as one character.
uint32_t next_code_point(std::string_view text, size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at++]);
  const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
  uint32_t point = more == 0 ? lead : lead & (0x3F >> more);
  for (int i = 0; i < more && at < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if ((byte & 0xC0) != 0x80) break;
    point = point << 6 | (byte & 0x3F);
    ++at;
  }
  return point;
}

size_t cells_of(uint32_t point) {
  const auto in = [point](uint32_t low, uint32_t high) { return point >= low && point <= high; };
  if (point < 0x20 || in(0x0300, 0x036F) || in(0x200B, 0x200D) || in(0xFE00, 0xFE0F)) return 0;
  const bool wide = in(0x1100, 0x115F) || in(0x2E80, 0xA4CF) || in(0xAC00, 0xD7A3) ||
                    in(0xF900, 0xFAFF) || in(0xFE30, 0xFE6F) || in(0xFF00, 0xFF60) ||
                    in(0x1F300, 0x1FAFF) || in(0x20000, 0x3FFFD);
  return wide ? 2 : 1;
}

std::string padded(const std::string& text, size_t width, Align align) {
  const std::string space(width - std::min(width, display_width(text)), ' ');
  return align == Align::kLeft ? text + space : space + text;
}

std::string without_trailing_space(const std::string& line) {
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : core::printable(text)) {
    if (c == '|') {
      out += "\\|";
    } else if (c == '\n') {
      out += "<br>";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

size_t display_width(std::string_view text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size();) width += cells_of(next_code_point(text, at));
  return width;
}

std::vector<Column> titled(const std::vector<std::string>& titles) {
  std::vector<Column> columns;
  for (const std::string& title : titles) {
    const bool left = title.starts_with('<');
    columns.push_back({title.substr(left ? 1 : 0), left ? Align::kLeft : Align::kRight});
  }
  return columns;
}

void Table::add_row(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) {
    throw Error(core::cat("table: a row of ", cells.size(), " cells, expected ", columns_.size()));
  }
  rows_.push_back(std::move(cells));
}

std::string Table::console() const {
  std::vector<std::vector<std::string>> rows = rows_;
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = display_width(columns_[c].title);
    for (auto& row : rows) {
      row[c] = core::printable_line(row[c]);
      width = std::max(width, display_width(row[c]));
    }
    widths.push_back(width);
  }
  const auto line = [&](auto cell) {
    std::string out;
    for (size_t c = 0; c < columns_.size(); ++c) {
      out += (c > 0 ? "  " : "") + padded(cell(c), widths[c], columns_[c].align);
    }
    return without_trailing_space(out);
  };
  std::string out = line([&](size_t c) { return columns_[c].title; });
  out += line([&](size_t c) { return std::string(widths[c], '-'); });
  for (const auto& row : rows) out += line([&](size_t c) { return row[c]; });
  return out;
}

std::string Table::markdown() const {
  std::string titles = "|", rules = "|";
  for (const auto& column : columns_) {
    titles += " " + markdown_cell(column.title) + " |";
    rules += column.align == Align::kLeft ? " --- |" : " ---: |";
  }
  std::string out = titles + "\n" + rules + "\n";
  for (const auto& row : rows_) {
    out += "|";
    for (const auto& cell : row) out += " " + markdown_cell(cell) + " |";
    out += "\n";
  }
  return out;
}

std::string Table::csv() const {
  std::vector<std::string> cells;
  for (const auto& column : columns_) cells.push_back(core::csv_cell(column.title));
  std::string out = core::join(cells, ",") + "\n";
  for (const auto& row : rows_) {
    cells.clear();
    for (const auto& cell : row) cells.push_back(core::csv_cell(cell));
    out += core::join(cells, ",") + "\n";
  }
  return out;
}

std::string Table::html(const std::string& caption) const {
  const auto safe = [](const std::string& text) {
    return core::xml_escape(core::printable_line(text), /*attribute=*/true);
  };
  const auto side = [&](size_t column) {
    return columns_[column].align == Align::kRight ? " class=\"n\"" : "";
  };
  std::string out = "<table><caption>" + safe(caption) + "</caption><thead><tr>";
  for (size_t c = 0; c < columns_.size(); ++c) {
    out += core::cat("<th scope=\"col\"", side(c), ">", safe(columns_[c].title), "</th>");
  }
  out += "</tr></thead><tbody>\n";
  for (const auto& row : rows_) {
    out += "<tr>";
    for (size_t c = 0; c < row.size(); ++c) {
      const char* tag = c == 0 ? "th" : "td";
      out += core::cat("<", tag, c == 0 ? " scope=\"row\"" : "", side(c), ">", safe(row[c]), "</",
                       tag, ">");
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string number_or_dash(double value, int digits, const char* unit) {
  return std::isfinite(value) ? core::fixed(value, digits) + unit : "-";
}

std::string exact_number(double value) {
  return std::isfinite(value) ? core::shortest(value) : "";
}

std::string signed_points(double value) {
  return (value < 0 ? "" : "+") + core::fixed(value, 2);
}

std::string with_spread(double value, double sd) {
  const std::string spread = std::isfinite(sd) ? " ± " + core::fixed(sd, 2) : "";
  return number_or_dash(value, 2) + spread;
}

}  // namespace adagp::report

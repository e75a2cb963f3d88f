#include "adagp/sim/scalesim/text_lines.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"

namespace adagp::scalesim {

std::string Place::str() const {
  return core::cat(file, ":", line, column > 0 ? core::cat(":", column) : "");
}

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  std::string_view rest = core::without_byte_order_mark(text);
  int number = 0;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back({++number, std::string(line)});
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return lines;
}

std::vector<Field> fields_of(const Line& line) {
  std::vector<Field> fields;
  size_t start = 0;
  for (const std::string& part : core::split(line.text, ',')) {
    const size_t first = part.find_first_not_of(" \t");
    const size_t column = start + (first == std::string::npos ? 0 : first) + 1;
    fields.push_back({core::trim(part), static_cast<int>(column)});
    start += part.size() + 1;
  }
  if (fields.size() > 1 && fields.back().text.empty()) fields.pop_back();
  return fields;
}

int64_t whole_number(const std::string& text, const std::string& what, int64_t least,
                     const Place& place) {
  long long value = 0;
  if (!core::parse_integer(text, value)) {
    throw DataError(place.str() + ": " + what + " is '" + text + "', expected a whole number");
  }
  if (value < least) {
    throw DataError(
        core::cat(place.str(), ": ", what, " is ", value, ", expected at least ", least));
  }
  return value;
}

}  // namespace adagp::scalesim

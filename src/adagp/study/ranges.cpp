#include "adagp/study/ranges.h"

#include <algorithm>

#include "adagp/core/error.h"
#include "adagp/core/text.h"

namespace adagp::study {
namespace {

constexpr size_t kMostValues = 1'000'000;  // of one flag
constexpr int64_t kLargestSide = 65536;

int64_t number_of(const std::string& text, const std::string& flag, const std::string& part,
                  int64_t largest) {
  long long value = 0;
  if (!core::parse_integer(core::trim(text), value) || value < 1 || value > largest) {
    throw UsageError(core::cat(flag, ": '", part, "', expected whole numbers from 1 to ", largest,
                               ", as 16, 8..64:8 or 8..64*2"));
  }
  return value;
}

// One part of a list. A step is +n or *n.
// `shown` is what a message quotes.
std::vector<int64_t> range_of(const std::string& part, const std::string& flag, int64_t largest,
                              const std::string& shown) {
  const size_t dots = part.find("..");
  if (dots == std::string::npos) return {number_of(part, flag, shown, largest)};
  const size_t mark = part.find_first_of(":*", dots);
  const int64_t from = number_of(part.substr(0, dots), flag, shown, largest);
  const int64_t to = number_of(
      part.substr(dots + 2, mark == std::string::npos ? std::string::npos : mark - dots - 2), flag,
      part, largest);
  const int64_t step =
      mark == std::string::npos ? 1 : number_of(part.substr(mark + 1), flag, shown, largest);
  const bool times = mark != std::string::npos && part[mark] == '*';
  if (to < from || (times && step < 2)) {
    throw UsageError(flag + ": '" + shown + "' never gets from its first number to its last");
  }
  std::vector<int64_t> values;
  for (int64_t value = from; value <= to; value = times ? value * step : value + step) {
    values.push_back(value);
    if (values.size() > kMostValues) throw UsageError(flag + ": '" + shown + "' is too long");
  }
  return values;
}

}  // namespace

std::vector<std::string> parse_names(const std::string& text, const std::string& flag) {
  std::vector<std::string> names;
  for (const std::string& part : core::split(text, ',')) {
    const std::string name = core::trim(part);
    if (name.empty()) continue;
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      throw UsageError(flag + ": '" + name + "' is given twice");
    }
    names.push_back(name);
  }
  if (names.empty()) throw UsageError(flag + ": no name in '" + text + "'");
  return names;
}

std::vector<int64_t> parse_numbers(const std::string& text, const std::string& flag,
                                   int64_t largest) {
  std::vector<int64_t> values;
  for (const std::string& part : core::split(text, ',')) {
    for (const int64_t value : range_of(core::trim(part), flag, largest, core::trim(part))) {
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
  }
  return values;
}

std::vector<std::pair<int64_t, int64_t>> parse_arrays(const std::string& text,
                                                      const std::string& flag) {
  std::vector<std::pair<int64_t, int64_t>> arrays;
  for (const std::string& part : core::split(text, ',')) {
    const size_t x = part.find('x');
    const auto rows = range_of(core::trim(part.substr(0, x)), flag, kLargestSide, part);
    if (x == std::string::npos) {
      for (const int64_t side : rows) arrays.emplace_back(side, side);
      continue;
    }
    const auto columns = range_of(core::trim(part.substr(x + 1)), flag, kLargestSide, part);
    if (rows.size() * columns.size() > kMostValues) {
      throw UsageError(flag + ": '" + part + "' is too long");
    }
    for (const int64_t row : rows) {
      for (const int64_t column : columns) arrays.emplace_back(row, column);
    }
  }
  return arrays;
}

}  // namespace adagp::study

#include "adagp/papers/study/ranges.h"

#include <algorithm>
#include <unordered_set>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/accel/accelerator.h"

namespace adagp::study {
namespace {

constexpr size_t kMostValues = 1'000'000;  // of one flag

// One part of a list: `from` .. `to` by a step of +n or *n. `shown` is what a message quotes.
struct Range {
  int64_t from = 1, to = 1, step = 1;
  bool times = false;

  // Checked before anything is listed.
  size_t count() const {
    if (!times) return static_cast<size_t>((to - from) / step + 1);
    size_t values = 1;
    for (int64_t value = from; value <= to / step; value *= step) ++values;
    return values;
  }
  std::vector<int64_t> values() const {
    std::vector<int64_t> out(count(), from);
    for (size_t i = 1; i < out.size(); ++i) out[i] = times ? out[i - 1] * step : out[i - 1] + step;
    return out;
  }
};

Range range_of(const std::string& part, const std::string& flag, int64_t largest,
               const std::string& shown) {
  const auto number = [&](const std::string& text) {
    long long value = 0;
    if (!core::parse_integer(core::trim(text), value) || value < 1 || value > largest) {
      throw UsageError(core::cat(flag, ": '", shown, "', expected whole numbers from 1 to ",
                                 largest, ", as 16, 8..64:8 or 8..64*2"));
    }
    return static_cast<int64_t>(value);
  };
  const size_t dots = part.find("..");
  if (dots == std::string::npos) {
    const int64_t value = number(part);
    return {value, value, 1, false};
  }
  const size_t mark = part.find_first_of(":*", dots);
  const bool step = mark != std::string::npos;
  const Range range{number(part.substr(0, dots)),
                    number(part.substr(dots + 2, step ? mark - dots - 2 : std::string::npos)),
                    step ? number(part.substr(mark + 1)) : 1, step && part[mark] == '*'};
  if (range.to < range.from || (range.times && range.step < 2)) {
    throw UsageError(flag + ": '" + shown + "' never gets from its first number to its last");
  }
  return range;
}

void check_length(size_t values, const std::string& flag) {
  if (values > kMostValues) {
    throw UsageError(core::cat(flag, ": ", values, " values, expected at most ", kMostValues));
  }
}

}  // namespace

std::vector<std::string> split_outside(const std::string& text, char separator) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == separator && depth == 0) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

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
  std::unordered_set<int64_t> seen;
  size_t listed = 0;
  for (const std::string& part : core::split(text, ',')) {
    const Range range = range_of(core::trim(part), flag, largest, core::trim(part));
    check_length(listed += range.count(), flag);
    for (const int64_t value : range.values()) {
      if (seen.insert(value).second) values.push_back(value);
    }
  }
  return values;
}

std::vector<std::pair<int64_t, int64_t>> parse_arrays(const std::string& text,
                                                      const std::string& flag) {
  std::vector<std::pair<int64_t, int64_t>> arrays;
  std::unordered_set<int64_t> seen;
  size_t listed = 0;
  const auto add = [&](int64_t rows, int64_t columns) {
    if (seen.insert(rows * (accel::kMaxSide + 1) + columns).second) {
      arrays.emplace_back(rows, columns);
    }
  };
  for (const std::string& part : core::split(text, ',')) {
    const size_t x = part.find('x');
    const Range rows = range_of(core::trim(part.substr(0, x)), flag, accel::kMaxSide, part);
    if (x == std::string::npos) {
      check_length(listed += rows.count(), flag);
      for (const int64_t side : rows.values()) add(side, side);
      continue;
    }
    const Range columns = range_of(core::trim(part.substr(x + 1)), flag, accel::kMaxSide, part);
    check_length(listed += rows.count() * columns.count(), flag);
    for (const int64_t row : rows.values()) {
      for (const int64_t column : columns.values()) add(row, column);
    }
  }
  return arrays;
}

}  // namespace adagp::study

#include "adagp/base/core/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>

namespace adagp::core {
namespace {

constexpr size_t kLongestDouble = 350;  // digits of any double before the point, sign and exponent

template <typename... Format>
std::string chars_of(double value, size_t room, Format... format) {
  std::string out(room, '\0');
  const auto end = std::to_chars(out.data(), out.data() + out.size(), value, format...).ptr;
  out.resize(static_cast<size_t>(end - out.data()));
  return out;
}

std::string two_digits(long long value) {
  return (value < 10 ? "0" : "") + std::to_string(value);
}

}  // namespace

std::string fixed(double value, int digits) {
  return chars_of(value, kLongestDouble + static_cast<size_t>(digits), std::chars_format::fixed,
                  digits);
}

std::string shortest(double value) {
  std::string text = chars_of(value, kLongestDouble, std::chars_format::scientific);
  const size_t mark = text.find('e');
  if (mark == std::string::npos) return text;  // inf, nan
  constexpr int kLeastPower = -4, kMostPower = 16;
  const int power = std::stoi(text.substr(mark + 1));
  if (power < kLeastPower || power >= kMostPower) return text;
  return chars_of(value, kLongestDouble, std::chars_format::fixed);
}

std::string human_bytes(double bytes) {
  static constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fixed(bytes, unit == 0 ? 0 : 1) + " " + kUnits[unit];
}

std::string human_seconds(double seconds) {
  if (seconds < 59.95) return fixed(seconds, 1) + " s";
  const auto whole = static_cast<long long>(std::llround(seconds));
  const std::string rest = two_digits(whole % 60) + "s";
  if (whole < 3600) return std::to_string(whole / 60) + "m " + rest;
  return std::to_string(whole / 3600) + "h " + two_digits(whole / 60 % 60) + "m " + rest;
}

std::string grouped(long long value) {
  const auto size = value < 0 ? 0 - static_cast<unsigned long long>(value)
                              : static_cast<unsigned long long>(value);
  std::string digits = std::to_string(size);
  for (auto at = static_cast<long>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, " ");
  return value < 0 ? "-" + digits : digits;
}

std::string trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  while (true) {
    const auto end = text.find(separator, start);
    parts.emplace_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

namespace {

// Levenshtein distance, one row at a time.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string closest(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string wanted = lower(name);
  std::string best;
  size_t best_distance = std::max<size_t>(2, name.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    const size_t distance = edit_distance(wanted, lower(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string near = closest(name, candidates);
  if (!near.empty()) return "; did you mean '" + near + "'?";
  return "; known: " + join(candidates, ", ");
}

bool parse_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool parse_integer(std::string_view text, long long& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

size_t broken_utf8(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  for (size_t at = 0; at < text.size();) {
    const unsigned lead = byte(at);
    const size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (length == 0 || lead > 0xF4 || at + length > text.size()) return at;
    for (size_t i = 1; i < length; ++i) {
      if ((byte(at + i) & 0xC0) != 0x80) return at;
    }
    // Longer than need be, a surrogate, or beyond the last code point.
    const unsigned second = length > 1 ? byte(at + 1) : 0;
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
      return at;
    }
    at += length;
  }
  return std::string_view::npos;
}

}  // namespace adagp::core

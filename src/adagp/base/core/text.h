#pragma once
// Small text helpers. Torch brings an fmt of its own, so files that include torch format with
// these.

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace adagp::core {

// cat("layer ", 3, ": ", x): everything streamed into one string.
template <typename... Parts>
std::string cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// "3.14" for (3.14159, 2).
std::string fixed(double value, int digits);
// The shortest text that reads back as the same double: "0.1", "1e-05".
std::string shortest(double value);
// "1.5 GiB".
std::string human_bytes(double bytes);
// "1h 02m 03s", "4m 05s", "6.7 s".
std::string human_seconds(double seconds);
// "30 720 000".
std::string grouped(long long value);

std::string trim(std::string_view text);
std::string lower(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

// The candidate nearest to `name` by edit distance, or "" when none is near.
std::string closest(std::string_view name, const std::vector<std::string>& candidates);
// "; did you mean 'x'?" or, when nothing is near, "; known: a, b, c".
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates);

// Where the first byte that is not UTF-8 stands, or npos.
size_t broken_utf8(std::string_view text);

// Whole-string numbers. False when anything is left over.
bool parse_number(std::string_view text, double& value);
bool parse_integer(std::string_view text, long long& value);

}  // namespace adagp::core

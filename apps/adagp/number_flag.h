#pragma once
// Flags that take a number, and one whose default the help shows. Numbers have one check: CLI11's
// own takes NaN, infinity and whole numbers that are too large for 64 bits.

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include <CLI/CLI.hpp>

#include "adagp/base/core/text.h"

namespace adagp::apps {

constexpr auto kMostWhole = std::numeric_limits<int32_t>::max();  // of what has no limit of its own

// The number in std::optional<int>, std::vector<int> or int.
template <typename Target>
struct NumberIn {
  using type = Target;
};
template <typename Target>
requires requires {
  typename Target::value_type;
}
struct NumberIn<Target> {
  using type = typename Target::value_type;
};
template <typename Target>
using number_in_t = typename NumberIn<Target>::type;

// Refuses what is no number from `least` to `most`, and writes the rest in the plainest way.
template <typename Number>
CLI::Validator number_between(Number least, Number most) {
  using Read = std::conditional_t<std::is_floating_point_v<Number>, double, long long>;
  const auto check = [least, most](std::string& text) -> std::string {
    std::string digits = core::trim(text);
    if (digits.starts_with("+")) digits.erase(0, 1);
    Read value = 0;
    bool read = false;
    std::string from, to;
    if constexpr (std::is_floating_point_v<Number>) {
      read = core::parse_number(digits, value);
      from = core::shortest(least), to = core::shortest(most);
    } else {
      read = core::parse_integer(digits, value);
      from = std::to_string(least), to = std::to_string(most);
    }
    if (read && value >= static_cast<Read>(least) && value <= static_cast<Read>(most)) {
      text = digits;
      if constexpr (!std::is_floating_point_v<Number>) text = std::to_string(value);
      return "";
    }
    const char* kind = std::is_floating_point_v<Number> ? "a number" : "a whole number";
    return core::cat("got '", text, "', expected ", kind, " from ", from, " to ", to);
  };
  return CLI::Validator(check, "");
}

// A flag for a number or a list of numbers, each from `least` to `most`.
template <typename Target, typename Number = number_in_t<Target>>
CLI::Option* add_number(CLI::App& command, const std::string& names, Target& target,
                        const std::string& about, std::type_identity_t<Number> least,
                        std::type_identity_t<Number> most = kMostWhole) {
  return command.add_option(names, target, about)
      ->transform(number_between<Number>(least, most))
      ->type_name("NUMBER");
}

// A flag whose default the help shows.
template <typename Target>
CLI::Option* add_shown(CLI::App& command, const std::string& names, Target& target,
                       const std::string& about) {
  return command.add_option(names, target, about)->capture_default_str();
}

}  // namespace adagp::apps

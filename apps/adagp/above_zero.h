#pragma once
// CLI11's PositiveNumber names the largest double in its message, which fills three lines.

#include <string>

#include <CLI/CLI.hpp>

namespace adagp::apps {

inline CLI::Validator above_zero() {
  const auto check = [](const std::string& text) {
    double value = 0;
    const bool good = CLI::detail::lexical_cast(text, value) && value > 0;
    return good ? std::string() : "got '" + text + "', expected a number above 0";
  };
  return CLI::Validator(check, "");
}

}  // namespace adagp::apps

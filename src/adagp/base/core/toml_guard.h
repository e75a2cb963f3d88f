#pragma once
// What must be refused before toml++ sees it.

#include <string>
#include <string_view>

namespace adagp::core {

// Throws UsageError with file, line and column for what toml++ 3.3 does not survive:
// - some non-ASCII characters outside strings and comments are undefined behaviour there, where
//   TOML allows none;
// - a key a.a.a... becomes a table in a table in a table, and thousands of them overflow the stack
//   when they are walked or freed.
void refuse_unsafe_toml(std::string_view text, const std::string& file_name);

}  // namespace adagp::core

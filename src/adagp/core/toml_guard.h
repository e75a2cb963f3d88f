#pragma once
// What must be refused before toml++ sees it.

#include <string>
#include <string_view>

namespace adagp::core {

// toml++ 3.3 runs into undefined behaviour on some non-ASCII characters outside strings and
// comments, where TOML allows none anyway; so they are refused before it sees them.
// Throws UsageError with file, line and column.
void refuse_stray_characters(std::string_view text, const std::string& file_name);

}  // namespace adagp::core

#pragma once
// Any TOML file as keys with dots and their values as text: for files whose keys are not ours.

#include <map>
#include <string>
#include <string_view>

namespace adagp::core {

// {"optim.lr": "0.05", "model.name": "\"vgg8s\""}. Throws UsageError with file, line and column.
std::map<std::string, std::string> toml_keys(std::string_view text, const std::string& file_name);
// What a string's text holds: "vgg8s"; other values as they are.
std::string toml_plain(const std::string& value);

// What must be refused before toml++ sees it.

// Throws UsageError with file, line and column for what toml++ 3.3 does not survive:
// - some non-ASCII characters outside strings and comments are undefined behaviour there, where
//   TOML allows none;
// - a key a.a.a... becomes a table in a table in a table, and thousands of them overflow the stack
//   when they are walked or freed.
void refuse_unsafe_toml(std::string_view text, const std::string& file_name);

}  // namespace adagp::core

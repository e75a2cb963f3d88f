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

}  // namespace adagp::core

#pragma once
// Pieces of YAML. A text in JSON's quotes is a text in YAML, too.

#include <string>
#include <vector>

namespace adagp::exchange::yaml {

std::string quoted(const std::string& text);
// "[a, b]"
std::string list(const std::vector<std::string>& items);

}  // namespace adagp::exchange::yaml

#pragma once
// JSON that anybody may have written.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace adagp::report {

// Throws DataError naming the file when the text is no JSON, or when lists and objects lie in each
// other more than a hundred times: copying and writing such a value would overflow the stack.
nlohmann::json parse_foreign_json(std::string_view text, const std::string& name);

}  // namespace adagp::report

#pragma once
// Values of a JSON file that may hold anything: what is missing or of another type is NaN or "".

#include <string>

#include <nlohmann/json.hpp>

namespace adagp::page {

double number_in(const nlohmann::json& json, const char* key);
std::string text_in(const nlohmann::json& json, const char* key);  // numbers as text, too
// The object or list below a key, or an empty one.
const nlohmann::json& inside(const nlohmann::json& json, const char* key);

}  // namespace adagp::page

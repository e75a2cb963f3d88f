#include "adagp/results/page/json_read.h"

#include <limits>

#include "adagp/base/core/text.h"

namespace adagp::page {

double number_in(const nlohmann::json& json, const char* key) {
  const nlohmann::json& found = inside(json, key);
  return found.is_number() ? found.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::string text_in(const nlohmann::json& json, const char* key) {
  const nlohmann::json& found = inside(json, key);
  if (found.is_string()) return found.get<std::string>();
  return found.is_number() ? core::shortest(found.get<double>()) : "";
}

const nlohmann::json& inside(const nlohmann::json& json, const char* key) {
  static const nlohmann::json kNothing;
  if (!json.is_object()) return kNothing;
  const auto found = json.find(key);
  return found == json.end() ? kNothing : *found;
}

}  // namespace adagp::page

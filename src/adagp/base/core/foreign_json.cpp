#include "adagp/base/core/foreign_json.h"

#include <algorithm>

#include "adagp/base/core/foreign_text.h"

namespace adagp::core {
namespace {

constexpr int kDeepest = 100;
constexpr size_t kLongestValue = 40;  // in a message

int depth_of(std::string_view text) {
  int depth = 0, deepest = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
      continue;
    }
    quoted = c == '"';
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  return deepest;
}

}  // namespace

template <typename Json>
std::optional<Json> try_parse_json(std::string_view text) {
  if (depth_of(text) > kDeepest) return {};
  auto json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return {};
  return json;
}

template <typename Json>
Json parse_json(std::string_view text, const std::string& name) {
  auto json = try_parse_json<Json>(text);
  if (json) return std::move(*json);
  if (depth_of(text) <= kDeepest) throw DataError(name + ": not JSON (is the file cut off?)");
  throw DataError(cat(name, ": lists and objects lie in each other more than ", kDeepest,
                      " times; expected what adagp wrote"));
}

template <typename Json>
std::string brief(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  if (text.size() > kLongestValue) text.replace(kLongestValue, std::string::npos, "...");
  return printable_line(text);
}

template std::optional<nlohmann::json> try_parse_json(std::string_view);
template std::optional<nlohmann::ordered_json> try_parse_json(std::string_view);
template nlohmann::json parse_json(std::string_view, const std::string&);
template nlohmann::ordered_json parse_json(std::string_view, const std::string&);
template std::string brief(const nlohmann::json&);
template std::string brief(const nlohmann::ordered_json&);

}  // namespace adagp::core

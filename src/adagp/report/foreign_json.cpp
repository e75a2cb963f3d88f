#include "adagp/report/foreign_json.h"

#include <algorithm>

#include "adagp/core/error.h"
#include "adagp/core/text.h"

namespace adagp::report {
namespace {

constexpr int kDeepest = 100;

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

nlohmann::json parse_foreign_json(std::string_view text, const std::string& name) {
  if (depth_of(text) > kDeepest) {
    throw DataError(core::cat(name, ": lists and objects lie in each other more than ", kDeepest,
                              " times; expected what adagp wrote"));
  }
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) throw DataError(name + ": not JSON; is the file cut off?");
  return json;
}

}  // namespace adagp::report

#pragma once
// JSON that anybody may have written: limits on its size and depth, errors that name the key.

#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"

namespace adagp::core {

// Of a JSON file that a folder brings; what adagp writes is far smaller.
inline constexpr size_t kMostJsonBytes = size_t{64} << 20;

// Nothing when the text is no JSON, or when lists and objects lie in each other more than a hundred
// times: copying and writing such a value would overflow the stack.
template <typename Json = nlohmann::json>
std::optional<Json> try_parse_json(std::string_view text);

// The same; throws DataError naming the file and the reason.
template <typename Json = nlohmann::json>
Json parse_json(std::string_view text, const std::string& name);

// Of a regular file of at most kMostJsonBytes. Throws DataError.
template <typename Json = nlohmann::json>
Json read_json(const fs::path& file) {
  return parse_json<Json>(read_regular_file(file, kMostJsonBytes), file.string());
}

// A value in a message: short, and without what a terminal would obey.
template <typename Json>
std::string brief(const Json& value);

namespace detail {

template <typename T, typename Json>
bool fits(const Json& value) {
  if constexpr (std::same_as<T, bool>) return value.is_boolean();
  if constexpr (std::integral<T>) return value.is_number_integer();
  if constexpr (std::floating_point<T>) return value.is_number();
  if constexpr (std::same_as<T, std::string>) return value.is_string();
  return true;
}

template <typename T>
constexpr const char* expected_name() {
  if constexpr (std::same_as<T, bool>) return "true or false";
  if constexpr (std::integral<T>) return "a whole number";
  if constexpr (std::floating_point<T>) return "a number";
  if constexpr (std::same_as<T, std::string>) return "a text";
  return "a list or an object of other values";
}

}  // namespace detail

// The value of a key. Throws DataError with the key and what was expected; the caller adds the
// file.
template <typename T, typename Json>
T json_field(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw DataError(cat("key '", key, "' is missing"));
  const auto refuse = [&] {
    throw DataError(
        cat("key '", key, "' is ", brief(*found), ", expected ", detail::expected_name<T>()));
  };
  if (!detail::fits<T>(*found)) refuse();
  try {
    return found->template get<T>();
  } catch (const nlohmann::json::exception&) {
    refuse();
    throw;
  }
}

template <typename T, typename Json>
void read_field(const Json& object, const char* key, T& to) {
  to = json_field<T>(object, key);
}

}  // namespace adagp::core

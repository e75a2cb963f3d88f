#include "adagp/base/core/toml_keys.h"

#include <sstream>

#include <toml++/toml.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/raw_bytes.h"
#include "adagp/base/core/text.h"
#include "adagp/base/core/toml_guard.h"

namespace adagp::core {
namespace {

void collect_keys(const toml::table& table, const std::string& prefix,
                  std::map<std::string, std::string>& out) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    if (const auto* inner = node.as_table()) {
      collect_keys(*inner, key + ".", out);
    } else if (const auto text = node.value_exact<std::string>()) {
      // Our own way of quoting: toml++ chooses by the text between ' and ".
      out[key] = "\"" + *text + "\"";
    } else {
      std::ostringstream value;
      node.visit([&](const auto& one) { value << one; });
      out[key] = value.str();
    }
  }
}

}  // namespace

std::map<std::string, std::string> toml_keys(std::string_view text, const std::string& file_name) {
  refuse_unsafe_toml(text, file_name);
  std::map<std::string, std::string> out;
  try {
    collect_keys(toml::parse(text, file_name), "", out);
  } catch (const toml::parse_error& error) {
    throw UsageError(cat(file_name, ":", error.source().begin.line, ":",
                         error.source().begin.column, ": not TOML: ", error.description()));
  }
  return out;
}

std::string toml_plain(const std::string& value) {
  const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  return quoted ? utf8_to_bytes(value.substr(1, value.size() - 2)) : value;
}

}  // namespace adagp::core

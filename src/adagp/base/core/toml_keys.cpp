#include "adagp/base/core/toml_keys.h"

#include <algorithm>
#include <sstream>

#include <toml++/toml.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"

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

void refuse_unsafe_toml(std::string_view text, const std::string& file_name) {
  constexpr int kMostDots = 32;  // our keys have one or two
  size_t line = 1, line_start = 0;
  int dots = 0;  // of the key or number that is being read
  const auto skip_to = [&](size_t from, std::string_view end, bool escapes) {
    const bool one_line = end.size() == 1;
    size_t at = from;
    while (at < text.size() && text.compare(at, end.size(), end) != 0) {
      if (one_line && text[at] == '\n') return at;
      if (escapes && text[at] == '\\') ++at;
      if (at < text.size() && text[at] == '\n') {
        ++line;
        line_start = at + 1;
      }
      ++at;
    }
    return std::min(at + end.size(), text.size());
  };
  size_t at = text.size() - without_byte_order_mark(text).size();
  while (at < text.size()) {
    const char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"' || c == '\'') {
      // A string starts after one of these; anywhere else the quote is no TOML and opens nothing.
      if (at > 0 && std::string_view(" \t\r\n=[{,.").find(text[at - 1]) == std::string_view::npos) {
        throw UsageError(cat(file_name, ":", line, ":", at - line_start + 1,
                             ": not TOML: a quote inside a word"));
      }
      const std::string triple(3, c);
      const bool multi = text.compare(at, 3, triple) == 0;
      at =
          multi ? skip_to(at + 3, triple, c == '"') : skip_to(at + 1, text.substr(at, 1), c == '"');
      // A multi-line string may end with up to two quotes of its own before the three.
      for (int extra = 0; multi && extra < 2 && at < text.size() && text[at] == c; ++extra) ++at;
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      throw UsageError(cat(file_name, ":", line, ":", at - line_start + 1,
                           ": not TOML: a non-ASCII character outside a string; put it in quotes"));
    } else {
      if (c == '.' && ++dots > kMostDots) {
        throw UsageError(cat(file_name, ":", line, ":", at - line_start + 1,
                             ": a key of more than ", kMostDots, " parts; no key has that many"));
      }
      if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos) dots = 0;
      if (c == '\n') {
        ++line;
        line_start = at + 1;
      }
      ++at;
    }
  }
}

}  // namespace adagp::core

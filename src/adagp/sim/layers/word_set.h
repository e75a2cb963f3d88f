#pragma once
// Lists of operations, written as a text.

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "adagp/base/core/text.h"

namespace adagp::layers {

inline std::set<std::string> word_set(const std::string& text) {
  const auto all = core::split(text, ' ');
  return {all.begin(), all.end()};
}

// Each word of a list leads to the list's value.
template <typename Value>
using WordMap = std::map<std::string, Value>;

template <typename Value>
WordMap<Value> word_map(std::initializer_list<std::pair<const char*, Value>> lists) {
  WordMap<Value> out;
  for (const auto& [text, value] : lists) {
    for (const std::string& word : core::split(text, ' ')) out.emplace(word, value);
  }
  return out;
}

template <typename Value>
Value value_or_null(const WordMap<Value>& map, const std::string& word) {
  const auto found = map.find(word);
  return found == map.end() ? nullptr : found->second;
}

}  // namespace adagp::layers

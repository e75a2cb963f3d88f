#pragma once
// Lists of operations, written as a text.

#include <set>
#include <string>

#include "adagp/base/core/text.h"

namespace adagp::layers {

inline std::set<std::string> word_set(const std::string& text) {
  const auto all = core::split(text, ' ');
  return {all.begin(), all.end()};
}

}  // namespace adagp::layers

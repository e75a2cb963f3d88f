#pragma once
// An expectation with the whole text in its message.

#include <gtest/gtest.h>

#include <string>

namespace adagp::test {

inline void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

}  // namespace adagp::test

#include "adagp/base/core/toml_keys.h"

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"

namespace adagp::core {
namespace {

TEST(TomlKeys, TablesBecomeKeysWithDots) {
  const auto keys =
      toml_keys("a = 1\nb = 'x\"y'\n[c.d]\ne = [1, 2]\nf = 0.5\ng = true\n", "t.toml");
  EXPECT_EQ(keys.at("a"), "1");
  EXPECT_EQ(keys.at("c.d.e"), "[ 1, 2 ]");
  EXPECT_EQ(keys.at("c.d.f"), "0.5");
  EXPECT_EQ(keys.at("c.d.g"), "true");
  EXPECT_EQ(toml_plain(keys.at("b")), "x\"y");
  EXPECT_EQ(toml_plain(keys.at("a")), "1");
  EXPECT_EQ(keys.size(), 5u);
}

TEST(TomlKeys, WhatIsNoTomlIsNamedWithItsPlace) {
  try {
    toml_keys("a = 1\nb = \n", "t.toml");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("t.toml:2:"), std::string::npos) << error.what();
  }
}

TEST(ShellWord, IsQuotedWhereAShellWouldReadMore) {
  EXPECT_EQ(shell_word("runs/a-1_b.c=d"), "runs/a-1_b.c=d");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("$(rm)"), "'$(rm)'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace adagp::core

#include "adagp/base/core/foreign_text.h"

#include <gtest/gtest.h>

namespace adagp::core {
namespace {

TEST(ForeignText, WhatATerminalObeysBecomesVisible) {
  EXPECT_EQ(printable("\x1b[31mred\x1b[0m"), "\\x1b[31mred\\x1b[0m");
  EXPECT_EQ(printable("a\rb\a\x7f"), "a\\x0db\\x07\\x7f");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\\u009b31m");  // the C1 form of ESC [
  EXPECT_EQ(printable("a\xE2\x80\xAE"
                      "b"),
            "a\\u202eb");                                  // right to left from here
  EXPECT_EQ(printable("caf\xE9 \x9B"), "caf\\xe9 \\x9b");  // Latin-1
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
}

TEST(ForeignText, OrdinaryTextStaysAsItIs) {
  const std::string text = "naïve 網路 🙂 ± \\x1b\nline\ttab";
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable(printable("\x1b")), printable("\x1b"));
  EXPECT_EQ(printable_line("a\nb\tc"), "a\\nb\\tc");
}

TEST(ForeignText, CellsOfCsvAreQuotedAndAreNoFormulas) {
  EXPECT_EQ(csv_cell("conv1"), "conv1");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_cell("=1+1"), "\"'=1+1\"");
  EXPECT_EQ(csv_cell("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
  EXPECT_EQ(csv_cell("@a"), "\"'@a\"");
  for (const char* number : {"-1", "-1.5e-05", "+2.50", "-inf", "0", "-"}) {
    EXPECT_EQ(csv_cell(number), number);
  }
}

TEST(ForeignText, WhatWasProtectedReadsBack) {
  for (const char* text :
       {"=1", "'=1", "''=1", "'quoted'", "'", "-x", "conv", "+", "@", "-1", ""}) {
    std::string cell = csv_cell(text);
    if (cell.starts_with('"')) cell = cell.substr(1, cell.size() - 2);
    EXPECT_EQ(csv_text(cell), text) << cell;
  }
}

TEST(ForeignText, MarksOfXmlAreEscapedAndQuotesInAttributes) {
  EXPECT_EQ(xml_escape("a<b> & \"c's\""), "a&lt;b&gt; &amp; \"c's\"");
  EXPECT_EQ(xml_escape("a<b> & \"c's\"", true), "a&lt;b&gt; &amp; &quot;c&#39;s&quot;");
}

}  // namespace
}  // namespace adagp::core

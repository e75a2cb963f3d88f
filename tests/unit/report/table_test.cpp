#include "adagp/results/report/table.h"

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"

namespace adagp::report {
namespace {

TEST(Table, ConsoleColumnsAreAlignedWhateverTheLetters) {
  Table table({{"name", Align::kLeft}, {"top-1"}});
  table.add_row({"bp", "90.10 ± 0.20"});
  table.add_row({"größe", "9"});
  table.add_row({"日本", "10"});
  EXPECT_EQ(table.console(),
            "name          top-1\n"
            "-----  ------------\n"
            "bp     90.10 ± 0.20\n"
            "größe             9\n"
            "日本             10\n");
}

TEST(Table, TitlesSayWhichColumnsAreAlignedLeft) {
  Table table(titled({"<name", "top-1", "<"}));
  table.add_row({"bp", "9", "x"});
  EXPECT_EQ(table.console(), "name  top-1\n----  -----  -\nbp        9  x\n");
}

TEST(Table, NoSpacesAtTheEndOfALine) {
  Table table({{"a", Align::kLeft}, {"b", Align::kLeft}});
  table.add_row({"x", "long"});
  table.add_row({"y", ""});
  EXPECT_EQ(table.console(), "a  b\n-  ----\nx  long\ny\n");
}

TEST(Table, MarkdownKeepsBarsInsideTheirCell) {
  Table table({{"a|b", Align::kLeft}, {"n"}});
  table.add_row({"k|v\nw", "1"});
  EXPECT_EQ(table.markdown(), "| a\\|b | n |\n| --- | ---: |\n| k\\|v<br>w | 1 |\n");
}

TEST(Table, CsvQuotesWhatNeedsIt) {
  Table table(titled({"a", "b, c"}));
  table.add_row({"say \"x\"", "two\nlines"});
  table.add_row({"plain", ""});
  EXPECT_EQ(table.csv(), "a,\"b, c\"\n\"say \"\"x\"\"\",\"two\nlines\"\nplain,\n");
}

TEST(Table, RowsHaveOneCellPerColumn) {
  Table table(titled({"a", "b"}));
  EXPECT_THROW(table.add_row({"1"}), Error);
}

TEST(Table, WidthSurvivesBrokenText) {
  EXPECT_EQ(display_width("e\xCC\x81"), 1u);         // e and a combining accent
  EXPECT_EQ(display_width("\xF0\x9F\x98\x80"), 2u);  // an emoji
  EXPECT_EQ(display_width("a\xE2\x82"), 2u);         // cut off in the middle of a character
}

}  // namespace
}  // namespace adagp::report

#include "adagp/base/core/text.h"

#include <gtest/gtest.h>

#include <bit>
#include <climits>
#include <cmath>

#include <fmt/format.h>

#include "adagp/base/core/rng.h"

namespace adagp::core {
namespace {

TEST(Text, ShortestReadsBackAsTheSameDouble) {
  for (const double value : {0.1, 1e-5, 1.0 / 3.0, 5e-324, 1.7976931348623157e308, -0.0, 3.0}) {
    double back = 0;
    ASSERT_TRUE(parse_number(shortest(value), back)) << shortest(value);
    EXPECT_EQ(value, back);
    EXPECT_EQ(std::signbit(value), std::signbit(back));
  }
  EXPECT_EQ(shortest(0.1), "0.1");
}

// Files hold numbers in this form; another library writes them alike, whatever the bits.
TEST(Text, NumbersAreWrittenAsFmtWritesThem) {
  Rng rng(5);
  for (int i = 0; i < 100000; ++i) {
    const double any = std::bit_cast<double>(rng.next());
    const double usual =
        (rng.uniform() - 0.5) * std::pow(10, static_cast<double>(rng.below(40)) - 20);
    for (const double value : {any, usual, std::round(usual)}) {
      ASSERT_EQ(shortest(value), fmt::format("{}", value));
      ASSERT_EQ(fixed(value, i % 9), fmt::format("{:.{}f}", value, i % 9));
    }
  }
  for (const double value :
       {0.0, -0.0, 1e15, 1e16, 1e-4, 1e-5, 9999999999999998.0, HUGE_VAL, -HUGE_VAL}) {
    EXPECT_EQ(shortest(value), fmt::format("{}", value));
    EXPECT_EQ(fixed(value, 3), fmt::format("{:.3f}", value));
  }
}

TEST(Text, BrokenUtf8IsFoundWhereItStands) {
  constexpr size_t kNone = std::string_view::npos;
  for (const char* good :
       {"", "conv1", "Faltung_\u00fc", "\u5c42", "\U0001F600", "\u07ff\u0800\uffff\U0010ffff"}) {
    EXPECT_EQ(broken_utf8(good), kNone) << good;
  }
  EXPECT_EQ(broken_utf8("ab\xff"), 2u);
  EXPECT_EQ(broken_utf8("Convoluci\xf3n"), 9u);  // Latin 1
  EXPECT_EQ(broken_utf8("\xc3"), 0u);            // cut off
  EXPECT_EQ(broken_utf8("\xc0\xaf"), 0u);        // longer than need be
  EXPECT_EQ(broken_utf8("x\xe0\x80\xaf"), 1u);
  EXPECT_EQ(broken_utf8("\xed\xa0\x80"), 0u);  // a surrogate
  EXPECT_EQ(broken_utf8("\xf4\x90\x80\x80"), 0u);
  EXPECT_EQ(broken_utf8("\x80"), 0u);
}

TEST(Text, HumanUnitsSwitchWhereTheyShould) {
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(1.5 * (1 << 30)), "1.5 GiB");
  EXPECT_EQ(human_seconds(6.72), "6.7 s");
  EXPECT_EQ(human_seconds(59.96), "1m 00s");  // never "60.0 s"
  EXPECT_EQ(human_seconds(245), "4m 05s");
  EXPECT_EQ(human_seconds(3723), "1h 02m 03s");
  EXPECT_EQ(fixed(3.14159, 2), "3.14");
}

TEST(Text, GroupedSeparatesThousandsOfAnyInteger) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1 000");
  EXPECT_EQ(grouped(-30720000), "-30 720 000");
  EXPECT_EQ(grouped(LLONG_MIN), "-9 223 372 036 854 775 808");
}

TEST(Text, SplitKeepsEmptyPartsAndJoinUndoesIt) {
  for (const std::string text : {"", ",", "a", "a,b", ",a,,b,"}) {
    EXPECT_EQ(join(split(text, ','), ","), text);
  }
  EXPECT_EQ(split(",a,", ',').size(), 3u);
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(lower("VGG13_bN"), "vgg13_bn");
}

TEST(Text, NumbersMustBeWholeStrings) {
  double number = 0;
  EXPECT_TRUE(parse_number("-1.5e3", number));
  EXPECT_EQ(number, -1500);
  for (const char* bad : {"", " 1", "1 ", "1x", "1.5.2", "e5"}) {
    EXPECT_FALSE(parse_number(bad, number)) << bad;
  }
  long long integer = 0;
  EXPECT_TRUE(parse_integer("-9223372036854775808", integer));
  EXPECT_EQ(integer, LLONG_MIN);
  for (const char* bad : {"", "1.0", "9223372036854775808", "0x10", "--1"}) {
    EXPECT_FALSE(parse_integer(bad, integer)) << bad;
  }
}

TEST(Text, ClosestFindsTyposAndNothingFarAway) {
  const std::vector<std::string> names{"vgg13", "vgg13_bn", "resnet18", "resnet50"};
  EXPECT_EQ(closest("resnet5", names), "resnet50");
  EXPECT_EQ(closest("RESNET18", names), "resnet18");
  EXPECT_EQ(closest("vgg13bn", names), "vgg13_bn");
  EXPECT_EQ(closest("transformer", names), "");
  EXPECT_EQ(closest("x", {}), "");
  EXPECT_EQ(suggestion("vg13", names), "; did you mean 'vgg13'?");
  EXPECT_EQ(suggestion("transformer", {"a", "b"}), "; known: a, b");
}

}  // namespace
}  // namespace adagp::core

#include "adagp/core/text.h"

#include <gtest/gtest.h>

#include <climits>
#include <cmath>

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

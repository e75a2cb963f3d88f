#include "adagp/base/core/binding.h"

#include <limits>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::core {
namespace {

struct Bound {
  double rate = 1;
  std::string name;
  Binding keys{"docs/page.md"};

  Bound() {
    keys.bind("a.rate", &rate, "");
    keys.bind("name", &name, "");
  }
  std::string refused(const std::string& toml) {
    try {
      keys.load_toml(toml, "f.toml");
    } catch (const UsageError& error) {
      return error.what();
    }
    ADD_FAILURE() << "accepted";
    return "";
  }
};

std::string repeated(const std::string& part, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += part;
  return out;
}

TEST(Binding, NumbersAreFiniteAndInRange) {
  int64_t count = 1, seed = 0;
  std::vector<int64_t> sizes;
  std::vector<double> shares;
  Bound b;
  b.keys.bind("count", &count, "").at_least(1);
  b.keys.bind("seed", &seed, "").between(0, 0x1p63);
  b.keys.bind("sizes", &sizes, "");
  b.keys.bind("shares", &shares, "").between(0, 1);
  for (const char* bad : {"a.rate = nan", "a.rate = inf", "a.rate = -inf", "shares = [0.5, nan]",
                          "shares = [inf]", "shares = 1.5", "sizes = [1, 4294967297]",
                          "count = 4294967297", "count = 0", "count = 99999999999999999999"}) {
    const std::string message = b.refused(bad);
    EXPECT_NE(message.find("f.toml:1:"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  EXPECT_NE(b.refused("a.rate = inf").find("expected a finite number"), std::string::npos);
  EXPECT_NE(b.refused("shares = -1").find("expected 0 to 1"), std::string::npos);
  EXPECT_NE(b.refused("seed = -1").find("expected at least 0"), std::string::npos);
  EXPECT_NE(b.refused("count = 4294967297").find("expected 1 to 2147483647"), std::string::npos);
  b.keys.load_toml("count = 2147483647\nseed = 9223372036854775807\na.rate = 1e308", "f.toml");
  EXPECT_EQ(count, 2147483647);
  EXPECT_EQ(seed, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(b.rate, 1e308);
}

// toml++ makes a table of every part, and walking or freeing 50,000 of them overflows the stack.
TEST(Binding, KeysOfThousandsOfPartsAreRefusedWithTheirPlace) {
  Bound b;
  for (const std::string& text :
       {repeated("a.", 50'000) + "a = 1\n", "[" + repeated("a.", 50'000) + "a]\n",
        "name = 'x'\n" + repeated("\"a\".", 50'000) + "a = 1\n",
        "name = {" + repeated("a .", 50'000) + "a = 1}\n"}) {
    const std::string message = b.refused(text);
    EXPECT_NE(message.find("f.toml:"), std::string::npos) << message;
    EXPECT_NE(message.find("parts"), std::string::npos) << message;
    EXPECT_LT(message.size(), 200U);
  }
  // As the value of --set it is no TOML, hence a plain text.
  b.keys.set("name={" + repeated("a.", 50'000) + "a=1}");
  EXPECT_EQ(b.name.size(), 100'005U);
}

TEST(Binding, ManyDotsElsewhereAreFine) {
  Bound b;
  b.keys.load_toml("# " + repeated("a.", 1000) + "\nname = \"" + repeated("a.", 1000) +
                       "\"\n[a]\nrate = 0.5\n" + repeated("# 1.5\n", 100),
                   "f.toml");
  EXPECT_EQ(b.rate, 0.5);
  EXPECT_EQ(b.name.size(), 2000U);
}

TEST(Binding, AnUnknownKeyLeadsToTheOneThatWasMeant) {
  double a = 0, b = 0, c = 0;
  Binding keys;
  keys.bind("energy.mac_pj", &a, "");
  keys.bind("fast.fmac_pj", &b, "");
  keys.bind("batch", &c, "");
  keys.also_called("batch", "batch_size bs");
  const std::pair<const char*, const char*> cases[] = {{"fast.mac_pj", "fast.fmac_pj"},
                                                       {"enrgy.mac_pj", "energy.mac_pj"},
                                                       {"mac_pj", "energy.mac_pj"},
                                                       {"Batch-Size", "batch"},
                                                       {"energy.bs", "batch"}};
  for (const auto& [given, meant] : cases) {
    try {
      keys.set(given, "1", "here");
      ADD_FAILURE() << given;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(cat("did you mean '", meant, "'?")),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(Binding, AnUnknownKeyPointsToThePageOfTheKeys) {
  Bound b;
  EXPECT_EQ(
      b.refused("a.rat = 1\n"),
      "f.toml:1:3: unknown key 'a.rat'; did you mean 'a.rate'? (docs/page.md lists the keys)");
  for (const char* wrong : {"nothing.like.it=1", "a.rate"}) {
    try {
      b.keys.set(wrong);
      ADD_FAILURE() << wrong;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("docs/page.md"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace adagp::core

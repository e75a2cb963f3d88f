#include "adagp/core/binding.h"

#include <gtest/gtest.h>

#include "adagp/core/error.h"

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

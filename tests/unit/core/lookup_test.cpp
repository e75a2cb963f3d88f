#include "adagp/base/core/lookup.h"

#include <map>
#include <utility>

#include <gtest/gtest.h>

namespace adagp::core {
namespace {

struct Animal {
  const char* name;
  int legs;
};
constexpr Animal kAnimals[] = {{"bird", 2}, {"horse", 4}, {"spider", 8}};

template <typename Problem, typename Look>
std::string message_of(const Look& look) {
  try {
    look();
  } catch (const Problem& e) {
    return e.what();
  }
  return "nothing thrown";
}

TEST(Lookup, FindsTheEntryItselfInEveryKindOfTable) {
  EXPECT_EQ(&find_named(kAnimals, "spider", "no"), &kAnimals[2]);
  const std::vector<const Animal*> pointers{&kAnimals[0], &kAnimals[1]};
  EXPECT_EQ(find_named(pointers, "horse", "no"), &kAnimals[1]);
  const std::vector<std::pair<std::string, int>> pairs{{"one", 1}, {"two", 2}};
  EXPECT_EQ(find_named(pairs, "two", "no").second, 2);
  const std::map<std::string, int> map{{"one", 1}, {"two", 2}};
  EXPECT_EQ(find_named(map, "one", "no").second, 1);
  const std::vector<std::string> words{"a", "b"};
  EXPECT_EQ(&find_named(words, "b", "no"), &words[1]);
}

TEST(Lookup, AWrongNameIsAnsweredWithTheNearestOrAll) {
  EXPECT_EQ(message_of<UsageError>([] { find_named(kAnimals, "hose", "unknown animal"); }),
            "unknown animal 'hose'; did you mean 'horse'?");
  EXPECT_EQ(message_of<UsageError>([] { find_named(kAnimals, "xylophone", "unknown animal"); }),
            "unknown animal 'xylophone'; known: bird, horse, spider");
  EXPECT_EQ(message_of<DataError>(
                [] { find_named<DataError>(kAnimals, "brd", "f.txt: animal", " is unknown"); }),
            "f.txt: animal 'brd' is unknown; did you mean 'bird'?");
}

TEST(Lookup, NamesAreNotAbbreviated) {
  EXPECT_THROW(find_named(kAnimals, "horses", "no"), UsageError);
  EXPECT_THROW(find_named(kAnimals, "hors", "no"), UsageError);
  EXPECT_THROW(find_named(kAnimals, "", "no"), UsageError);
}

TEST(Lookup, NamesInTheOrderOfTheTable) {
  EXPECT_EQ(names_of(kAnimals), (std::vector<std::string>{"bird", "horse", "spider"}));
}

TEST(Lookup, ATableRefusesASecondEntryOfOneName) {
  std::vector<std::pair<std::string, int>> table;
  add_named(table, std::pair<std::string, int>("bp", 1), "method");
  EXPECT_EQ(
      message_of<Error>([&] { add_named(table, std::pair<std::string, int>("bp", 2), "method"); }),
      "two entries for method 'bp'");
  ASSERT_EQ(table.size(), 1);
  EXPECT_EQ(table[0].second, 1);
}

}  // namespace
}  // namespace adagp::core

#include "adagp/papers/study/sweep_points.h"

#include <gtest/gtest.h>

#include <set>

#include "adagp/base/core/error.h"

namespace adagp::study {
namespace {

// Some keys of every kind.
struct SweptConfig {
  std::string schedule = "auto", method = "adagp";
  int64_t channels = 16;
  double lr = 0.1;
  std::vector<int64_t> sizes;
  core::Binding binding;

  SweptConfig() {
    binding.bind("schedule", &schedule, "");
    binding.bind("method", &method, "").one_of({"adagp", "bp"});
    binding.bind("predictor.channels", &channels, "").at_least(1);
    binding.bind("optim.lr", &lr, "").between(0, 10);
    binding.bind("low_res.sizes", &sizes, "");
    binding.bind("seed", &channels, "");
  }
  std::vector<SweptKey> parse(const std::string& text) {
    return parse_swept_keys(text, binding, {{"seed", "use --seeds"}});
  }
  std::vector<std::string> values(const std::string& text) { return parse(text).at(0).values; }
  std::string refusal(const std::string& text) {
    try {
      parse(text);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  }
};

using Values = std::vector<std::string>;

TEST(SweptKeys, CommasOfASchedulesAndListsBelongToTheValue) {
  SweptConfig c;
  EXPECT_EQ(c.values("schedule=10ep bp, 4ep 4:1, 1:1; paper"),
            (Values{"10ep bp, 4ep 4:1, 1:1", "paper"}));
  EXPECT_EQ(c.values("schedule=10ep bp, 1:1"), (Values{"10ep bp, 1:1"}));
  EXPECT_EQ(c.values("low_res.sizes=[8,16];[16,32]"), (Values{"[8,16]", "[16,32]"}));
  EXPECT_EQ(c.values("method=adagp,bp"), (Values{"adagp", "bp"}));
  EXPECT_EQ(c.values("method=adagp;bp"), (Values{"adagp", "bp"}));
}

TEST(SweptKeys, RangesOfNumbersAreListed) {
  SweptConfig c;
  EXPECT_EQ(c.values("predictor.channels=1..4"), (Values{"1", "2", "3", "4"}));
  EXPECT_EQ(c.values("predictor.channels=8..24:8,64"), (Values{"8", "16", "24", "64"}));
  EXPECT_EQ(c.values("predictor.channels=8..40*2"), (Values{"8", "16", "32"}));
  EXPECT_EQ(c.values("optim.lr=0.001..1*10"), (Values{"0.001", "0.01", "0.1", "1"}));
  EXPECT_EQ(c.values("optim.lr=0.1..0.3:0.1"),
            (Values{"0.1", "0.2", "0.3"}));  // no 0.30000000000000004
}

TEST(SweptKeys, RefusalsNameWhatIsWrong) {
  SweptConfig c;
  EXPECT_NE(c.refusal("optim.l=1").find("did you mean 'optim.lr'"), std::string::npos);
  EXPECT_NE(c.refusal("seed=1,2").find("use --seeds"), std::string::npos);
  EXPECT_NE(c.refusal("optim.lr=0.1,11").find("expected 0 to 10"), std::string::npos);
  EXPECT_NE(c.refusal("method=adagp,nag").find("nag"), std::string::npos);
  EXPECT_NE(c.refusal("optim.lr=0.1,0.1").find("twice"), std::string::npos);
  EXPECT_NE(c.refusal("optim.lr=1|optim.lr=2").find("twice"), std::string::npos);
  EXPECT_NE(c.refusal("optim.lr=1,,2").find("empty value"), std::string::npos);
  EXPECT_NE(c.refusal("optim.lr=1||method=bp").find("empty key"), std::string::npos);
  EXPECT_NE(c.refusal("optim.lr").find("expected key=value"), std::string::npos);
  EXPECT_NE(c.refusal("predictor.channels=4..1").find("rising range"), std::string::npos);
  EXPECT_NE(c.refusal("predictor.channels=0..8*2").find("rising range"), std::string::npos);
  EXPECT_NE(c.refusal("predictor.channels=1..2:0.5").find("whole numbers"), std::string::npos);
  EXPECT_NE(c.refusal("predictor.channels=1..99999").find("more than"), std::string::npos);
  EXPECT_NE(c.refusal("optim.lr=0..1:nan").find("rising range"), std::string::npos);
}

TEST(SweepGrid, HasEveryCombinationOnce) {
  SweptConfig c;
  const auto points = grid(c.parse("schedule=bp;1:1|predictor.channels=8,16,32"));
  ASSERT_EQ(points.size(), 6U);
  EXPECT_EQ(points[1].name, "schedule=bp, predictor.channels=16");
  std::set<std::string> names;
  for (const auto& point : points) names.insert(point.name);
  EXPECT_EQ(names.size(), 6U);
  EXPECT_THROW(grid(c.parse("predictor.channels=1..200|optim.lr=0.01..1:0.01")), UsageError);
}

TEST(SweepDraw, IsTheSameForASeedAndAnotherForOthers) {
  SweptConfig c;
  const auto all = grid(c.parse("predictor.channels=1..50"));
  const auto names = [&](int64_t count, uint64_t seed) {
    std::vector<std::string> out;
    for (const auto& point : draw_points(all, count, seed)) out.push_back(point.name);
    return out;
  };
  EXPECT_EQ(names(10, 3), names(10, 3));
  EXPECT_NE(names(10, 3), names(10, 4));
  const auto drawn = names(10, 3);
  EXPECT_EQ(std::set<std::string>(drawn.begin(), drawn.end()).size(), 10U);
  EXPECT_EQ(names(80, 3).size(), 50U);
}

}  // namespace
}  // namespace adagp::study

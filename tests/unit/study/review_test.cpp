#include "adagp/papers/study/review.h"

#include <sys/stat.h>

#include <set>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"

namespace adagp::study {
namespace {

class Review : public ::testing::Test {
 protected:
  Review() : folder_(core::fs::path(::testing::TempDir()) / "review") {
    core::fs::remove_all(folder_);
    core::fs::create_directories(folder_);
  }
  ReviewAnswer answer(const std::string& id) const {
    for (const ReviewAnswer& one : answer_review(folder_, {})) {
      if (one.id == id) return one;
    }
    ADD_FAILURE() << "no question " << id;
    return {};
  }
  core::fs::path folder_;
};

TEST_F(Review, EveryQuestionHasAnIdOfItsOwnAndACommand) {
  std::set<std::string> ids;
  for (const ReviewAnswer& one : answer_review(folder_, {})) {
    EXPECT_TRUE(ids.insert(one.id).second) << one.id;
    EXPECT_TRUE(one.command.starts_with("adagp ")) << one.command;
    EXPECT_FALSE(one.measured) << one.id;
  }
}

TEST_F(Review, ScalingIsThatOfTheMostCopies) {
  const auto copies = [](int count, const char* speed) {
    return std::string("{\"copies\": {\"count\": ") + std::to_string(count) +
           ", \"bp_speed\": " + speed + ", \"accumulated_speed\": 0.7, \"mixed_speed\": 0.8}}";
  };
  core::write_file(folder_ / "scaling.json",
                   "[" + copies(1, "1.0") + "," + copies(64, "0.25") + "]");
  const ReviewAnswer found = answer("Q3, scale");
  EXPECT_TRUE(found.measured);
  EXPECT_NE(found.answer.find("64 copies, beside backprop on one: backprop 0.25"),
            std::string::npos)
      << found.answer;
}

TEST_F(Review, EnergyIsTheLargestSaving) {
  core::write_file(folder_ / "energy.json",
                   R"({"target": 0.34, "gp_share": 0.5,
                       "points": [{"saved": 0.2}, {"saved": 0.3125}, {"saved": 0.1}]})");
  const std::string found = answer("C3, energy").answer;
  EXPECT_NE(found.find("31.2 % of 34.0 %"), std::string::npos) << found;
  EXPECT_NE(found.find("saves 50.0 %"), std::string::npos) << found;
}

TEST_F(Review, AFileOfAnotherCommandIsRefused) {
  core::write_file(folder_ / "scaling.json", "[]");
  EXPECT_THROW(answer_review(folder_, {}), DataError);
}

TEST_F(Review, AResultOfAnotherTypeIsNamedByFileAndKey) {
  const core::fs::path file = folder_ / "paper-table1" / "table1.json";
  core::make_folder(file.parent_path());
  const auto refusal = [&](const std::string& text) -> std::string {
    core::write_file(file, text);
    try {
      answer_review(folder_, {});
    } catch (const DataError& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::string typed = refusal(R"({"mean": {"networks": "ten"}, "runs_open": 0})");
  EXPECT_TRUE(typed.starts_with(file.string())) << typed;
  EXPECT_NE(typed.find("key 'networks' is \"ten\", expected a whole number"), std::string::npos)
      << typed;
  const std::string deep = refusal(std::string(200'000, '[') + std::string(200'000, ']'));
  EXPECT_NE(deep.find("lie in each other"), std::string::npos) << deep;
  core::fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_THROW(answer_review(folder_, {}), DataError);  // without waiting for a writer
}

}  // namespace
}  // namespace adagp::study

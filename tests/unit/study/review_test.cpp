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
  const std::set<std::string> simulated{"Q3, scale", "C3, energy"};
  std::set<std::string> ids;
  for (const ReviewAnswer& one : answer_review(folder_, {})) {
    EXPECT_TRUE(ids.insert(one.id).second) << one.id;
    EXPECT_TRUE(one.command.starts_with("adagp ")) << one.command;
    EXPECT_EQ(one.measured, simulated.contains(one.id)) << one.id;
  }
}

// The commands between the marks of code in the first table of docs/questions.md.
std::multiset<std::string> commands_of_the_page() {
  const std::string page = core::read_file(ADAGP_SOURCE_DIR "/docs/questions.md");
  std::multiset<std::string> out;
  size_t at = page.find("\n|---");
  while ((at = page.find("\n| ", at)) != std::string::npos) {
    const size_t begin = page.find(" | `", at) + 4, end = page.find("` | ", begin);
    std::string command;
    for (size_t i = begin; i < end; ++i) {
      if (page[i] != '\\') command += page[i];  // \| stands for |
    }
    out.insert(command);
    at = page.find('\n', end);
    if (page[at + 1] != '|') break;  // the table's end
  }
  return out;
}

TEST_F(Review, ItsCommandsAreThoseOfThePage) {
  std::multiset<std::string> ours;
  for (const ReviewAnswer& one : answer_review(folder_, {})) ours.insert(one.command);
  EXPECT_EQ(ours, commands_of_the_page());
}

// The program refuses keys and lengths of a method without --budget.
TEST_F(Review, KeysOfAMethodStandBesideBudget) {
  for (const ReviewAnswer& one : answer_review(folder_, {})) {
    if (!one.command.starts_with("adagp compare") || one.command.find('[') == std::string::npos) {
      continue;
    }
    EXPECT_TRUE(one.command.starts_with("adagp compare --budget ")) << one.command;
  }
}

// Both need no file of an earlier command. The figures are those of docs/copies.md and
// docs/simulator.md, which the two commands printed.
TEST_F(Review, ScalingAndEnergyAreSimulated) {
  const ReviewAnswer scaling = answer("Q3, scale"), energy = answer("C3, energy");
  EXPECT_TRUE(scaling.measured && energy.measured);
  EXPECT_NE(scaling.answer.find("1024 copies, beside backprop on one: backprop 0.52, two batches "
                                "per exchange 0.68, GP : BP = 1 : 1 0.83"),
            std::string::npos)
      << scaling.answer;
  EXPECT_NE(energy.answer.find("33.3 % of 34.0 %"), std::string::npos) << energy.answer;
  EXPECT_NE(energy.answer.find("saves 47.6 %"), std::string::npos) << energy.answer;
}

TEST_F(Review, AMissingResultIsNamedWithItsFile) {
  const ReviewAnswer found = answer("L1");
  EXPECT_FALSE(found.measured);
  EXPECT_NE(found.answer.find("predictor-sizes/sweep.json"), std::string::npos) << found.answer;
}

TEST_F(Review, AFileOfAnotherCommandIsRefused) {
  core::make_folder(folder_ / "mlp");
  core::write_file(folder_ / "mlp" / "budget.json", "[]");
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
  const std::string typed = refusal(
      R"({"mean": {"networks": "ten", "ours": 1, "published": 1, "over_skip": 1}, "runs_open": 0})");
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

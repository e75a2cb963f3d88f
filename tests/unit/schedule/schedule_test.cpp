#include "adagp/base/schedule/schedule.h"

#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"

namespace adagp::schedule {
namespace {

// One epoch as text: P for a predicted batch, B for a backpropagated one.
std::string letters(const Schedule& schedule, int64_t epoch, int64_t batches) {
  std::string out;
  for (int64_t b = 0; b < batches; ++b) {
    out += schedule.at(epoch, b) == Phase::kPredict ? 'P' : 'B';
  }
  return out;
}

int64_t counted(const Schedule& schedule, int64_t epochs, int64_t batches) {
  int64_t total = 0;
  for (int64_t e = 0; e < epochs; ++e) {
    for (const char c : letters(schedule, e, batches)) total += c == 'P';
  }
  return total;
}

TEST(Schedule, PaperPutsTheKnownShareIntoPrediction) {
  // (4*48 + 4*45 + 4*40 + 68*30) / 5400 = 2572 / 5400, by hand.
  const auto paper = Schedule::parse("paper", 90);
  EXPECT_EQ(paper.predicted_batches(90, 60), 2572);
  EXPECT_NEAR(paper.predicted_share(90, 60), 0.4763, 5e-5);
}

TEST(Schedule, PaperIsLiteralWhateverTheLengthOfTheRun) {
  EXPECT_EQ(Schedule::parse("paper", 7).str(), "10ep bp, 4ep 4:1, 4ep 3:1, 4ep 2:1, 1:1");
}

TEST(Schedule, AutoEqualsPaperAtNinetyEpochs) {
  EXPECT_EQ(Schedule::parse("auto", 90).str(), Schedule::parse("paper", 90).str());
}

TEST(Schedule, AutoScalesAndShortRunsKeepWhatFits) {
  EXPECT_EQ(Schedule::parse("auto", 180).str(), "20ep bp, 8ep 4:1, 8ep 3:1, 8ep 2:1, 1:1");
  EXPECT_EQ(Schedule::parse("auto", 30).str(), "3ep bp, 1ep 4:1, 1ep 3:1, 1ep 2:1, 1:1");
  EXPECT_EQ(Schedule::parse("auto", 3).str(), "1ep bp, 1ep 4:1, 1ep 3:1, 1:1");
  EXPECT_EQ(Schedule::parse("auto", 2).str(), "1ep bp, 1ep 4:1, 1:1");
  EXPECT_EQ(Schedule::parse("auto", 1).str(), "1ep bp, 1:1");
  EXPECT_EQ(Schedule::parse("auto", 1).predicted_batches(1, 100), 0);
}

TEST(Schedule, PredictionComesFirstAndTheCycleRestartsWithTheEpoch) {
  const auto s = Schedule::parse("1ep bp, 2ep 2:1, 1:2", 9);
  EXPECT_EQ(letters(s, 0, 4), "BBBB");
  EXPECT_EQ(letters(s, 1, 5), "PPBPP");  // ends inside a cycle ...
  EXPECT_EQ(letters(s, 2, 5), "PPBPP");  // ... and starts anew
  EXPECT_EQ(letters(s, 3, 7), "PBBPBBP");
  EXPECT_EQ(letters(s, 1000, 4), "PBBP");
}

TEST(Schedule, WholeEpochsOfPrediction) {
  const auto s = Schedule::parse("5ep bp, 4ep gp, 1ep bp, 3ep gp", 13);
  std::string epochs;
  for (int64_t e = 0; e < 15; ++e) {
    const std::string one = letters(s, e, 3);
    ASSERT_TRUE(one == "PPP" || one == "BBB") << one;
    epochs += one[0];
  }
  EXPECT_EQ(epochs, "BBBBBPPPPBPPPPP");  // the last stretch goes on
}

TEST(Schedule, PredictedBatchesEqualsTheCount) {
  for (const std::string text : {"paper", "auto", "bp", "gp", "2ep bp, 3ep 4:1, 1:1", "1ep 5:3",
                                 "1ep gp, 2ep 7:2, 0:1", "2ep 1:0, 3ep 1:4"}) {
    for (const int64_t epochs : {0, 1, 2, 5, 23}) {
      for (const int64_t batches : {1, 2, 7, 30}) {
        const auto s = Schedule::parse(text, epochs);
        EXPECT_EQ(s.predicted_batches(epochs, batches), counted(s, epochs, batches))
            << text << ", " << epochs << " epochs of " << batches;
      }
    }
  }
}

TEST(Schedule, WrittenOutItReadsBackTheSame) {
  for (const std::string text : {"paper", "bp", " 2EP  GP ,1 : 3", "3ep 2:1"}) {
    const auto once = Schedule::parse(text, 90);
    EXPECT_EQ(Schedule::parse(once.str(), 90).str(), once.str());
  }
  EXPECT_EQ(Schedule::parse(" 2EP  GP ,1 : 3", 9).str(), "2ep gp, 1:3");
}

TEST(Schedule, MalformedTextIsAUsageErrorThatNamesThePart) {
  const std::tuple<const char*, const char*> cases[] = {
      {"", "stretch 1 is empty"},
      {"10ep bp,", "stretch 2 is empty"},
      {"10ep bp,,1:1", "stretch 2 is empty"},
      {"bp, 4ep 4:1", "'bp'"},
      {"1:1, 2:1", "'1:1'"},
      {"10ep", "'10ep'"},
      {"0ep bp, 1:1", "'0'"},
      {"-3ep bp", "'-3'"},
      {"0.5ep bp", "'0.5'"},
      {"ep bp", "'ep bp'"},
      {"4ba 2:1", "'4ba 2:1'"},
      {"4ep 0:0", "'4ep 0:0'"},
      {"4ep 4:-1", "'-1'"},
      {"4ep 4:1:2", "'4:1:2'"},
      {"4ep 4:", "'4ep 4:'"},
      {"4ep x:1", "'x'"},
      {"4ep bp 2", "'bp 2'"},
      {"99999999999999999999ep bp", "'99999999999999999999'"},
      {"1ep bp, paper", "'paper' stands alone"},
      {"1ep bp, papr", "did you mean 'paper'"},
      {"autp", "did you mean 'auto'"},
  };
  for (const auto& [text, named] : cases) {
    try {
      Schedule::parse(text, 90);
      ADD_FAILURE() << "'" << text << "' was taken";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(named), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace adagp::schedule

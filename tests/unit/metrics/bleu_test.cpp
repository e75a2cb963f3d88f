#include "adagp/engine/metrics/bleu.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "unit/python.h"
#include "unit/temp_folder.h"

namespace adagp::metrics {
namespace {

// Does it agree with the program that papers quote?
TEST(Bleu, EqualsSacrebleu) {
  const testing::TempFolder folder;
  const auto file = folder / "bleu.json";
  testing::run_python("tests/golden/bleu.py", file.string());
  std::ifstream in(file);
  const auto corpora = nlohmann::json::parse(in);
  ASSERT_GT(corpora.size(), 40U);
  for (const auto& corpus : corpora) {
    Bleu bleu;
    for (size_t i = 0; i < corpus["translations"].size(); ++i) {
      const std::string translation = corpus["translations"][i];
      EXPECT_EQ(tokenise_13a(translation), corpus["tokens"][i].get<std::vector<std::string>>())
          << translation;
      bleu.add(translation, corpus["references"][i].get<std::string>());
    }
    // The same counts through the same formula: only the order of additions may differ.
    EXPECT_NEAR(bleu.score(), corpus["score"].get<double>(), 1e-9);
  }
}

TEST(Bleu, OfAShorterTranslationByHand) {
  Bleu bleu;
  bleu.add("a b c d e", "a b c d e f g");
  // Every run is in the reference: the score is the brevity penalty alone.
  EXPECT_NEAR(bleu.score(), 100 * std::exp(1 - 7.0 / 5.0), 1e-9);
}

TEST(Bleu, IsNothingBeforeTheFirstSentence) {
  EXPECT_EQ(Bleu().score(), 0);
}

}  // namespace
}  // namespace adagp::metrics

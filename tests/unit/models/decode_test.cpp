// The search against every sentence there is.

#include <cmath>
#include <map>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"
#include "adagp/engine/models/translator.h"

namespace adagp::models {
namespace {

constexpr int64_t kVocabulary = 6;  // the marks and the words 4 and 5
using Sentence = std::vector<int64_t>;

// Scores that depend on the whole sentence so far and on the source, drawn once for each.
class TableTranslator : public Translator {
 public:
  Encoded encode(const at::Tensor& source) override {
    ++encoded;
    return {source.to(at::kFloat).unsqueeze(2), source.ne(1)};
  }
  at::Tensor next_word(const at::Tensor& target, const Encoded& source) override {
    at::Tensor out = at::zeros({target.size(0), kVocabulary});
    for (int64_t b = 0; b < target.size(0); ++b) {
      Sentence so_far;
      for (int64_t t = 1; t < target.size(1); ++t) so_far.push_back(target[b][t].item<int64_t>());
      out[b] = scores(source.memory[b][0][0].item<int64_t>(), so_far);
    }
    return out;
  }
  std::vector<std::string> heads() const override { return {}; }

  static at::Tensor scores(int64_t source, const Sentence& so_far) {
    uint64_t seed = static_cast<uint64_t>(source);
    for (const int64_t word : so_far) seed = core::mix({seed, static_cast<uint64_t>(word)});
    core::Rng rng(seed);
    at::Tensor out = at::zeros({kVocabulary});
    for (int64_t v = 0; v < kVocabulary; ++v) out[v] = 1.5 * rng.normal();
    return out;
  }
  int encoded = 0;
};

struct Best {
  Sentence words;
  double score = -INFINITY;
};

// All sentences of words 4 and 5 with an end mark, or cut off at `longest`.
void exhaust(int64_t source, const SearchOptions& o, const Sentence& so_far, double sum,
             Best& best) {
  const auto length = static_cast<int64_t>(so_far.size());
  const auto consider = [&](int64_t words, double total) {
    const double score = total / std::pow(static_cast<double>(words), o.length_penalty);
    if (score > best.score) best = {so_far, score};
  };
  if (length == o.longest) return consider(length, sum);
  const at::Tensor log_p = at::log_softmax(TableTranslator::scores(source, so_far), 0);
  consider(length + 1, sum + log_p[o.end].item<double>());
  for (const int64_t word : {4, 5}) {
    Sentence longer = so_far;
    longer.push_back(word);
    exhaust(source, o, longer, sum + log_p[word].item<double>(), best);
  }
}

TEST(Translate, AWideBeamFindsTheBestOfAllSentences) {
  TableTranslator net;
  const at::Tensor source = at::arange(10, 30, at::kLong).unsqueeze(1);
  for (const double penalty : {0.0, 0.6, 1.0}) {
    SearchOptions o;
    o.longest = 4;
    o.length_penalty = penalty;
    o.beam = 40;  // there are 31 hypotheses in all: nothing is lost
    const auto found = translate(net, source, o);
    for (int64_t i = 0; i < source.size(0); ++i) {
      Best best;
      exhaust(source[i][0].item<int64_t>(), o, {}, 0, best);
      EXPECT_EQ(found[static_cast<size_t>(i)], best.words) << i << " with penalty " << penalty;
    }
  }
  EXPECT_EQ(net.encoded, 3);
}

TEST(Translate, GreedyTakesTheBestWordEachTime) {
  TableTranslator net;
  const at::Tensor source = at::arange(40, 60, at::kLong).unsqueeze(1);
  SearchOptions o;
  o.longest = 6;
  const auto found = translate(net, source, o);
  for (int64_t i = 0; i < source.size(0); ++i) {
    Sentence expected;
    for (int64_t t = 0; t < o.longest; ++t) {
      const at::Tensor scores = TableTranslator::scores(source[i][0].item<int64_t>(), expected);
      const int64_t word = scores.narrow(0, 3, 3).argmax().item<int64_t>() + 3;
      if (word == o.end) break;
      expected.push_back(word);
    }
    EXPECT_EQ(found[static_cast<size_t>(i)], expected) << i;
  }
}

// A sentence's translation does not depend on what else is in the batch.
TEST(Translate, BatchesChangeNothing) {
  TableTranslator net;
  const at::Tensor source = at::arange(70, 90, at::kLong).unsqueeze(1);
  SearchOptions o;
  o.longest = 8;
  o.beam = 3;
  const auto together = translate(net, source, o);
  for (int64_t i = 0; i < source.size(0); ++i) {
    EXPECT_EQ(translate(net, source.narrow(0, i, 1), o).at(0), together[static_cast<size_t>(i)]);
  }
}

TEST(Translate, RefusesWhatCannotBe) {
  TableTranslator net;
  SearchOptions o;
  o.beam = 0;
  EXPECT_THROW(translate(net, at::zeros({1, 1}, at::kLong), o), UsageError);
  EXPECT_THROW(translate(net, at::zeros({1}, at::kLong), {}), UsageError);
}

}  // namespace
}  // namespace adagp::models

#pragma once
// A made-up pair of languages that says the same thing in two ways: no files are needed, every
// sentence has exactly one translation, and a network must learn order and endings to find it.
//
//   source   the small bird will see a tree soon .    determiner adjective noun auxiliary verb ...
//   target   soon bird+o small tree+i+t see+un .      adverb first, verb last, adjective after noun
//
// In the target, a noun's ending tells definite from indefinite, many from one, and object from
// subject; an adjective agrees in number; a verb's ending is its tense. No torch here.

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/base/core/rng.h"

namespace adagp::data {

class SyntheticLanguage {
 public:
  explicit SyntheticLanguage(uint64_t seed);  // the words are drawn from it

  // What is said. Numbers are places in the lexicon; -1: left out.
  struct Phrase {
    int64_t noun = 0, adjective = -1;
    bool plural = false, definite = false;
    bool operator==(const Phrase&) const = default;
  };
  struct Meaning {
    Phrase subject, object;
    int64_t verb = 0, tense = 0, adverb = -1;
    bool operator==(const Meaning&) const = default;
  };
  static Meaning draw(core::Rng& rng);

  std::string source(const Meaning& meaning) const;
  std::string target(const Meaning& meaning) const;

 private:
  std::string source(const Phrase& phrase) const;
  std::string target(const Phrase& phrase, bool object) const;

  struct Lexicon {
    std::vector<std::string> nouns, adjectives, verbs, adverbs;
  };
  Lexicon source_, target_;
  std::vector<std::string> determiners_, auxiliaries_;  // of the source
};

}  // namespace adagp::data

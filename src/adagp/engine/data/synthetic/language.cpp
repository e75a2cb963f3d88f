#include "adagp/engine/data/synthetic/language.h"

#include <set>

#include "adagp/engine/data/sets/translation.h"

namespace adagp::data {
namespace {

constexpr int64_t kNouns = 24, kAdjectives = 10, kVerbs = 12, kAdverbs = 6, kTenses = 3;
constexpr const char* kTenseEndings[kTenses] = {"", "ar", "un"};
constexpr size_t kStem = 5;  // letters; endings follow

// Consonant, vowel, consonant, vowel, consonant; no stem twice.
std::string draw_stem(core::Rng& rng, std::set<std::string>& used) {
  constexpr std::string_view kConsonants = "bdfghklmnprstvz", kVowels = "aeiou";
  while (true) {
    std::string stem;
    for (size_t i = 0; i < kStem; ++i) {
      const auto letters = i % 2 == 0 ? kConsonants : kVowels;
      stem += letters[static_cast<size_t>(rng.below(static_cast<int64_t>(letters.size())))];
    }
    if (used.insert(stem).second) return stem;
  }
}

std::vector<std::string> draw_stems(int64_t count, core::Rng& rng, std::set<std::string>& used) {
  std::vector<std::string> stems(static_cast<size_t>(count));
  for (auto& stem : stems) stem = draw_stem(rng, used);
  return stems;
}

const std::string& at(const std::vector<std::string>& words, int64_t place) {
  return words[static_cast<size_t>(place)];
}

std::string noun_ending(const SyntheticLanguage::Phrase& phrase, bool object) {
  return std::string(phrase.definite ? "o" : "i") + (phrase.plural ? "k" : "") +
         (object ? "t" : "");
}

}  // namespace

SyntheticLanguage::SyntheticLanguage(uint64_t seed) {
  core::Rng rng(core::mix({seed, 0x6c616e6775616765ULL}));
  for (Lexicon* lexicon : {&source_, &target_}) {
    std::set<std::string> used;
    lexicon->nouns = draw_stems(kNouns, rng, used);
    lexicon->adjectives = draw_stems(kAdjectives, rng, used);
    lexicon->verbs = draw_stems(kVerbs, rng, used);
    lexicon->adverbs = draw_stems(kAdverbs, rng, used);
    if (lexicon != &source_) continue;
    determiners_ = draw_stems(3, rng, used);  // definite, indefinite for one, for many
    auxiliaries_ = draw_stems(kTenses - 1, rng, used);
  }
}

SyntheticLanguage::Meaning SyntheticLanguage::draw(core::Rng& rng) {
  const auto phrase = [&rng] {
    Phrase p;
    p.noun = rng.below(kNouns);
    if (rng.below(2) == 0) p.adjective = rng.below(kAdjectives);
    p.plural = rng.below(2) == 0;
    p.definite = rng.below(2) == 0;
    return p;
  };
  Meaning m;
  m.subject = phrase();
  m.object = phrase();
  m.verb = rng.below(kVerbs);
  m.tense = rng.below(kTenses);
  if (rng.below(5) < 2) m.adverb = rng.below(kAdverbs);
  return m;
}

std::string SyntheticLanguage::source(const Phrase& p) const {
  std::string out = at(determiners_, p.definite ? 0 : p.plural ? 2 : 1) + " ";
  if (p.adjective >= 0) out += at(source_.adjectives, p.adjective) + " ";
  return out + at(source_.nouns, p.noun) + (p.plural ? "es" : "");
}

std::string SyntheticLanguage::source(const Meaning& m) const {
  std::string out = source(m.subject) + " ";
  if (m.tense > 0) out += at(auxiliaries_, m.tense - 1) + " ";
  out += at(source_.verbs, m.verb) + " " + source(m.object);
  if (m.adverb >= 0) out += " " + at(source_.adverbs, m.adverb);
  return out + " .";
}

std::string SyntheticLanguage::target(const Phrase& p, bool object) const {
  std::string out = at(target_.nouns, p.noun) + noun_ending(p, object);
  if (p.adjective >= 0) out += " " + at(target_.adjectives, p.adjective) + (p.plural ? "ek" : "");
  return out;
}

std::string SyntheticLanguage::target(const Meaning& m) const {
  std::string out;
  if (m.adverb >= 0) out += at(target_.adverbs, m.adverb) + " ";
  out += target(m.subject, false) + " " + target(m.object, true) + " ";
  return out + at(target_.verbs, m.verb) + kTenseEndings[m.tense] + " .";
}

TextSplits make_synthetic_text(const Config& config) {
  const auto seed = static_cast<uint64_t>(config.synthetic_seed);
  const SyntheticLanguage language(seed);
  const auto make = [&](const std::string& name, uint64_t half, int64_t count) {
    TextPair pair{{"synthetic-translation " + name + " source", {}},
                  {"synthetic-translation " + name + " target", {}}};
    for (int64_t i = 0; i < count; ++i) {
      core::Rng rng(core::mix({seed, half, static_cast<uint64_t>(i)}));
      const auto meaning = SyntheticLanguage::draw(rng);
      pair.source.lines.push_back(language.source(meaning));
      pair.target.lines.push_back(language.target(meaning));
    }
    return pair;
  };
  return {make("train", 1, config.synthetic_train), make("test", 2, config.synthetic_test)};
}

}  // namespace adagp::data

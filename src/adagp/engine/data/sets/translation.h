#pragma once
// Sentences in pairs, as numbers. No torch here.

#include <string>
#include <vector>

#include "adagp/base/config/data_options.h"
#include "adagp/engine/data/text/parallel_text.h"
#include "adagp/engine/data/text/vocabulary.h"

namespace adagp::data {

struct TextOptions {
  std::string source = "en", target = "de";  // languages: endings of the file names
  std::string test = "val";                  // the files that are evaluated on: val.en, val.de
  int64_t min_frequency = 2;                 // rarer words of the training text are unknown
  int64_t longest = 100;                     // words of a sentence
};

struct Sentences {
  std::vector<std::vector<int64_t>> source, target;  // words without marks
  std::vector<std::string> reference;                // the target's text
  int64_t size() const { return static_cast<int64_t>(source.size()); }
};

struct TranslationData {
  Vocabulary source, target;  // of the whole training text, whatever the limits
  Sentences train, test;
};

struct TextPair {
  TextFile source, target;
};
struct TextSplits {
  TextPair train, test;
};

// Throws DataError with file and line for text that cannot be used: see parse_text(), and a
// sentence without one known word. Training pairs of more than `longest` words are left out with a
// warning; among the test pairs they are an error.
TranslationData open_translation_data(const Config& config, const TextOptions& options);

// train.SOURCE, train.TARGET, TEST.SOURCE, TEST.TARGET in a folder or an archive.
TextSplits read_parallel(const Config& config, const TextOptions& options);
// See data/synthetic/language.h.
TextSplits make_synthetic_text(const Config& config);

}  // namespace adagp::data

#pragma once
// Words and their numbers. No torch here.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace adagp::data {

// The numbers of what is not a word.
constexpr int64_t kUnknown = 0;  // "<unk>": a word that is not in the vocabulary
constexpr int64_t kPadding = 1;  // "<pad>": fills up short sentences
constexpr int64_t kBegin = 2;    // "<bos>"
constexpr int64_t kEnd = 3;      // "<eos>"

using Words = std::vector<std::string>;
Words split_words(const std::string& line);  // at spaces and tabs

class Vocabulary {
 public:
  Vocabulary();
  // The words that occur at least `min_frequency` times, the frequent ones first, equally frequent
  // ones in the order of their bytes. A word spelt like a mark is an unknown one.
  Vocabulary(const std::vector<std::string>& lines, int64_t min_frequency);

  int64_t size() const { return static_cast<int64_t>(words_.size()); }
  int64_t number(const std::string& word) const;  // kUnknown when it is not there
  const std::string& word(int64_t number) const;  // throws Error for a number that is none
  const Words& words() const { return words_; }

  std::vector<int64_t> numbers(const std::string& line) const;
  std::string text(const std::vector<int64_t>& numbers) const;  // joined by spaces

 private:
  Words words_;
  std::unordered_map<std::string, int64_t> numbers_;
};

}  // namespace adagp::data

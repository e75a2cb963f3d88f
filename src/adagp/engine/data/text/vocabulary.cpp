#include "adagp/engine/data/text/vocabulary.h"

#include <algorithm>
#include <map>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::data {

Words split_words(const std::string& line) {
  Words words;
  for (size_t at = 0; (at = line.find_first_not_of(" \t", at)) != std::string::npos;) {
    const size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

Vocabulary::Vocabulary() : words_{"<unk>", "<pad>", "<bos>", "<eos>"} {}

Vocabulary::Vocabulary(const std::vector<std::string>& lines, int64_t min_frequency)
    : Vocabulary() {
  std::map<std::string, int64_t> counts;
  for (const auto& line : lines) {
    for (auto& word : split_words(line)) ++counts[std::move(word)];
  }
  for (const auto& mark : words_) counts.erase(mark);
  std::vector<std::pair<std::string, int64_t>> kept;
  for (const auto& [word, count] : counts) {
    if (count >= min_frequency) kept.emplace_back(word, count);
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (auto& [word, count] : kept) {
    numbers_[word] = size();
    words_.push_back(word);
  }
}

int64_t Vocabulary::number(const std::string& word) const {
  const auto found = numbers_.find(word);
  return found == numbers_.end() ? kUnknown : found->second;
}

const std::string& Vocabulary::word(int64_t number) const {
  if (number < 0 || number >= size()) {
    throw Error(core::cat("word number ", number, ": the vocabulary has ", size(), " words"));
  }
  return words_[static_cast<size_t>(number)];
}

std::vector<int64_t> Vocabulary::numbers(const std::string& line) const {
  std::vector<int64_t> out;
  for (const auto& word : split_words(line)) out.push_back(number(word));
  return out;
}

std::string Vocabulary::text(const std::vector<int64_t>& numbers) const {
  Words out;
  for (const int64_t n : numbers) out.push_back(word(n));
  return core::join(out, " ");
}

}  // namespace adagp::data

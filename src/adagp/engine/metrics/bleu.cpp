#include "adagp/engine/metrics/bleu.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace adagp::metrics {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_stop(char c) {
  return c == '.' || c == ',';
}
// What stands for itself wherever it is: ASCII punctuation but ' , - .
bool is_symbol(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// Puts spaces around pairs of characters that `first` and `second` accept; a character belongs to
// one pair only, the leftmost, as with a regular expression. Bytes serve as characters: those of
// one longer than a byte are never digits, stops or hyphens.
template <typename First, typename Second>
std::string spaced(const std::string& text, First first, Second second, bool before, bool between,
                   bool after) {
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  size_t i = 0;
  while (i < text.size()) {
    if (i + 1 < text.size() && first(text[i]) && second(text[i + 1])) {
      if (before) out += ' ';
      out += text[i];
      if (between) out += ' ';
      out += text[i + 1];
      if (after) out += ' ';
      i += 2;
    } else {
      out += text[i++];
    }
  }
  return out;
}

// Length in bytes of the white space at `at`, 0 when there is none: what Python's split() splits
// at.
size_t space_at(std::string_view text, size_t at) {
  const char c = text[at];
  if (c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f')) return 1;
  static constexpr std::string_view kWide[] = {
      "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81",
      "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86",
      "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8",
      "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};
  for (const auto space : kWide) {
    if (text.substr(at).starts_with(space)) return space.size();
  }
  return 0;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (size_t i = 0; i < text.size();) {
    const size_t space = space_at(text, i);
    if (space == 0) {
      word += text[i++];
      continue;
    }
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
    i += space;
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

using Counts = std::unordered_map<std::string, int64_t>;

// Runs of `order` words with how often they occur.
Counts runs(const std::vector<std::string>& words, size_t order) {
  Counts counts;
  for (size_t i = 0; i + order <= words.size(); ++i) {
    std::string run;
    for (size_t j = 0; j < order; ++j) (run += words[i + j]) += ' ';
    ++counts[run];
  }
  return counts;
}

}  // namespace

std::vector<std::string> tokenise_13a(std::string_view line) {
  std::string text(line);
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
  std::string symbols = " ";
  for (const char c : text + " ") {
    if (is_symbol(c)) {
      (symbols += ' ') += c;
      symbols += ' ';
    } else {
      symbols += c;
    }
  }
  const auto no_digit = [](char c) { return !is_digit(c); };
  std::string out = spaced(symbols, no_digit, is_stop, false, true, true);
  out = spaced(out, is_stop, no_digit, true, true, false);
  out = spaced(
      out, is_digit, [](char c) { return c == '-'; }, false, true, true);
  return words_of(out);
}

void Bleu::add(std::string_view translation, std::string_view reference) {
  const auto got = tokenise_13a(translation), wanted = tokenise_13a(reference);
  words_ += static_cast<int64_t>(got.size());
  reference_words_ += static_cast<int64_t>(wanted.size());
  for (size_t order = 1; order <= kOrder; ++order) {
    const Counts in_reference = runs(wanted, order);
    for (const auto& [run, count] : runs(got, order)) {
      total_[order - 1] += count;
      const auto found = in_reference.find(run);
      if (found != in_reference.end()) matched_[order - 1] += std::min(count, found->second);
    }
  }
}

double Bleu::score() const {
  if (std::all_of(matched_.begin(), matched_.end(), [](int64_t n) { return n == 0; })) return 0;
  double smoothing = 1, log_sum = 0;
  for (size_t n = 0; n < kOrder; ++n) {
    if (total_[n] == 0) return 0;  // no translation is as long as this
    double share = static_cast<double>(matched_[n]) / static_cast<double>(total_[n]);
    if (matched_[n] == 0) {
      smoothing *= 2;
      share = 1.0 / (smoothing * static_cast<double>(total_[n]));
    }
    log_sum += std::log(share);
  }
  const double brevity =
      words_ < reference_words_
          ? std::exp(1.0 - static_cast<double>(reference_words_) / static_cast<double>(words_))
          : 1.0;
  return 100.0 * brevity * std::exp(log_sum / kOrder);
}

}  // namespace adagp::metrics

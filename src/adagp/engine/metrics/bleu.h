#pragma once
// Corpus BLEU as sacreBLEU computes it by default: one reference per sentence, words up to four in
// a row, "13a" tokenisation, exponential smoothing, case kept. Free of torch.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace adagp::metrics {

// mteval-v13a's tokens of one line of UTF-8.
std::vector<std::string> tokenise_13a(std::string_view line);

class Bleu {
 public:
  void add(std::string_view translation, std::string_view reference);
  double score() const;  // 0 .. 100; 0 before the first sentence

 private:
  static constexpr size_t kOrder = 4;

  // By length of the run of words: those that are in the reference (each as often as there), all.
  std::array<int64_t, kOrder> matched_{}, total_{};
  int64_t words_ = 0, reference_words_ = 0;
};

}  // namespace adagp::metrics

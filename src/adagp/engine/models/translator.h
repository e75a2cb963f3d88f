#pragma once
// Networks that read one sentence and write another, and how the best one is searched for.

#include <vector>

#include "adagp/engine/models/model.h"

namespace adagp::models {

class Translator : public BlockNet {
 public:
  // The source as the decoder sees it; its rows may be repeated or picked.
  struct Encoded {
    at::Tensor memory;  // [B, S, width]
    at::Tensor mask;    // bool [B, S], false where the source is filled up
  };
  virtual Encoded encode(const at::Tensor& source) = 0;  // int64 [B, S]
  // Scores [B, vocabulary] of the word that follows target [B, T].
  virtual at::Tensor next_word(const at::Tensor& target, const Encoded& source) = 0;
};

struct SearchOptions {
  int64_t beam = 1;            // hypotheses kept per sentence; 1 = greedy
  double length_penalty = 1;   // hypotheses are compared by log-probability / length^this
  int64_t longest = 100;       // words written at most, the end mark included
  int64_t begin = 2, end = 3;  // token numbers
  std::vector<int64_t> never = {0, 1, 2};  // are not written
};

// The best translation found of each sentence of source [B, S], without its marks. The source is
// encoded once; hypotheses are extended in step on the network's device, in evaluation mode.
// Throws UsageError for options that cannot be.
std::vector<std::vector<int64_t>> translate(Translator& net, const at::Tensor& source,
                                            const SearchOptions& options);

}  // namespace adagp::models

#pragma once
// Batches of sentence pairs of like length, padded to few different shapes.

#include <memory>
#include <utility>

#include "adagp/data/batch.h"
#include "adagp/data/translation.h"

namespace adagp::data {

struct SentenceLoaderOptions {
  int64_t batch = 128;   // pairs
  bool training = true;  // another order each epoch, whole batches only; else by length, all pairs
  uint64_t seed = 0;
  int64_t multiple = 8;  // lengths are padded to a multiple of this
  at::Device device = at::kCPU;
};

// inputs {source: words and the end mark, target: the begin mark and words}, targets {words and the
// end mark}. An epoch's pairs are shuffled, sorted by length within pools of many batches, cut, and
// the batches shuffled: like lengths meet, and in every epoch others.
class SentenceLoader : public BatchSource {
 public:
  // Throws UsageError when there is not one whole batch for training, or an option cannot be.
  SentenceLoader(std::shared_ptr<const Sentences> sentences, const SentenceLoaderOptions& options);

  int64_t batches_per_epoch() const override { return batches_; }
  void seek(int64_t epoch, int64_t position) override;
  Batch next() override;
  void skip() override;

  const Sentences& sentences() const { return *sentences_; }

 private:
  std::vector<int64_t> order_of(int64_t epoch) const;

  std::shared_ptr<const Sentences> sentences_;
  SentenceLoaderOptions options_;
  int64_t batches_ = 0;
  int64_t epoch_ = 0, position_ = 0;
  int64_t ordered_ = -1;        // the epoch of order_
  std::vector<int64_t> order_;  // of pairs
};

// A batch of these pairs.
Batch make_sentence_batch(const Sentences& sentences, std::vector<int64_t> indices,
                          int64_t multiple, at::Device device);

}  // namespace adagp::data

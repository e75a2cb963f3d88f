#pragma once
// Batches of sentence pairs of like length, padded to few different shapes.

#include <memory>

#include "adagp/engine/data/sets/translation.h"
#include "adagp/engine/data/stream/batch_stream.h"

namespace adagp::data {

struct SentenceLoaderOptions {
  int64_t batch = 128;   // pairs
  bool training = true;  // another order each epoch, whole batches only; else by length, all pairs
  uint64_t seed = 0;
  int64_t multiple = 8;  // lengths are padded to a multiple of this
  at::Device device = at::kCPU;
  int64_t workers = 1;  // prefetching threads; 0 = in the caller
  // Batches that the caller will skip(): they are not made ahead. Empty = none is known.
  std::function<bool(int64_t epoch, int64_t position)> skips = {};
};

// inputs {source: words and the end mark, target: the begin mark and words}, targets {words and the
// end mark}. An epoch's pairs are shuffled, sorted by length within pools of many batches, cut, and
// the batches shuffled: like lengths meet, and in every epoch others.
class SentenceLoader : public BatchSource {
 public:
  // Throws UsageError when there is not one whole batch for training, or an option cannot be.
  SentenceLoader(std::shared_ptr<const Sentences> sentences, const SentenceLoaderOptions& options);

  int64_t batches_per_epoch() const override { return stream_.batches_per_epoch(); }
  void seek(int64_t epoch, int64_t position) override { stream_.seek(epoch, position); }
  Batch next() override { return stream_.next(); }
  void skip() override { stream_.skip(); }
  void only_part(int64_t part, int64_t parts) override { stream_.only_part(part, parts); }

  const Sentences& sentences() const { return *sentences_; }

 private:
  std::shared_ptr<const Sentences> sentences_;
  BatchStream stream_;
};

// The inputs and targets of a batch of these pairs, on the host; page-locked when they will travel
// to a GPU.
Batch make_sentence_batch(const Sentences& sentences, const std::vector<int64_t>& indices,
                          int64_t multiple, bool pinned = false);

}  // namespace adagp::data

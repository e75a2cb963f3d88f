#include "adagp/data/sentence_loader.h"

#include <algorithm>
#include <numeric>

#include <ATen/ATen.h>

#include "adagp/core/error.h"
#include "adagp/core/rng.h"
#include "adagp/core/text.h"

namespace adagp::data {
namespace {

// Batches of a pool that is sorted as one: enough for batches of nearly equal lengths, few enough
// that a sentence meets different ones.
constexpr int64_t kPool = 50;

using Sequences = std::vector<std::vector<int64_t>>;

// [B, T] filled up with padding; `first` and `last` go around the words, -1 for neither.
at::Tensor padded(const Sequences& all, const std::vector<int64_t>& indices, int64_t first,
                  int64_t last, int64_t multiple, at::Device device) {
  int64_t longest = 0;
  for (const int64_t i : indices) {
    longest = std::max(longest, static_cast<int64_t>(all[static_cast<size_t>(i)].size()) + 1);
  }
  longest = (longest + multiple - 1) / multiple * multiple;
  const auto host = at::TensorOptions(at::kLong).pinned_memory(device.is_cuda());
  at::Tensor out = at::full({static_cast<int64_t>(indices.size()), longest}, kPadding, host);
  auto* row = out.mutable_data_ptr<int64_t>();
  for (const int64_t i : indices) {
    const auto& words = all[static_cast<size_t>(i)];
    auto* to = row;
    if (first >= 0) *to++ = first;
    to = std::copy(words.begin(), words.end(), to);
    if (last >= 0) *to = last;
    row += longest;
  }
  return out.to(device, /*non_blocking=*/true);
}

}  // namespace

Batch make_sentence_batch(const Sentences& sentences, std::vector<int64_t> indices,
                          int64_t multiple, at::Device device) {
  Batch batch;
  batch.inputs = {padded(sentences.source, indices, -1, kEnd, multiple, device),
                  padded(sentences.target, indices, kBegin, -1, multiple, device)};
  batch.targets = {padded(sentences.target, indices, -1, kEnd, multiple, device)};
  batch.indices = std::move(indices);
  return batch;
}

SentenceLoader::SentenceLoader(std::shared_ptr<const Sentences> sentences,
                               const SentenceLoaderOptions& options)
    : sentences_(std::move(sentences)), options_(options) {
  const int64_t count = sentences_->size(), batch = options_.batch;
  if (batch < 1 || options_.multiple < 1) {
    throw UsageError(core::cat("batch size ", batch, ", lengths in multiples of ",
                               options_.multiple, ": both must be at least 1"));
  }
  batches_ = options_.training ? count / batch : (count + batch - 1) / batch;
  if (batches_ == 0) {
    throw UsageError(core::cat("data: ", count, " sentences do not fill one batch of ", batch,
                               "; lower the batch size or raise data.limit"));
  }
}

std::vector<int64_t> SentenceLoader::order_of(int64_t epoch) const {
  const auto lengths = [this](int64_t i) {
    const auto at = static_cast<size_t>(i);
    return std::pair(sentences_->target[at].size(), sentences_->source[at].size());
  };
  const auto sort = [&lengths](auto begin, auto end) {
    std::stable_sort(begin, end, [&](int64_t a, int64_t b) { return lengths(a) < lengths(b); });
  };
  std::vector<int64_t> order(static_cast<size_t>(sentences_->size()));
  if (!options_.training) {
    std::iota(order.begin(), order.end(), int64_t{0});
    sort(order.begin(), order.end());
    return order;
  }
  const auto number = static_cast<uint64_t>(epoch);
  order = core::permutation(sentences_->size(), core::mix({options_.seed, number}));
  order.resize(static_cast<size_t>(batches_ * options_.batch));
  const auto pool = static_cast<std::ptrdiff_t>(kPool * options_.batch);
  for (auto at = order.begin(); at != order.end();) {
    const auto end = at + std::min(pool, order.end() - at);
    sort(at, end);
    at = end;
  }
  std::vector<int64_t> shuffled;
  shuffled.reserve(order.size());
  for (const int64_t b : core::permutation(batches_, core::mix({options_.seed, number, 1}))) {
    // Within a batch in any order too: its first part must not be its shortest sentences.
    const auto batch = static_cast<uint64_t>(b);
    for (const int64_t i :
         core::permutation(options_.batch, core::mix({options_.seed, number, 2, batch}))) {
      shuffled.push_back(order[static_cast<size_t>(b * options_.batch + i)]);
    }
  }
  return shuffled;
}

void SentenceLoader::seek(int64_t epoch, int64_t position) {
  if (epoch < 0 || position < 0 || position > batches_) {
    throw Error(core::cat("data: no batch ", position, " in epoch ", epoch, ": an epoch has ",
                          batches_, " batches"));
  }
  epoch_ = position == batches_ ? epoch + 1 : epoch;
  position_ = position == batches_ ? 0 : position;
}

Batch SentenceLoader::next() {
  if (ordered_ != epoch_ && (options_.training || order_.empty())) order_ = order_of(epoch_);
  ordered_ = epoch_;
  const auto begin = position_ * options_.batch;
  const auto end = std::min(begin + options_.batch, static_cast<int64_t>(order_.size()));
  Batch batch = make_sentence_batch(*sentences_, {order_.begin() + begin, order_.begin() + end},
                                    options_.multiple, options_.device);
  batch.epoch = epoch_;
  batch.position = position_;
  skip();
  return batch;
}

void SentenceLoader::skip() {
  seek(epoch_, position_ + 1);
}

}  // namespace adagp::data

#include "adagp/engine/data/stream/sentence_loader.h"

#include <algorithm>
#include <numeric>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"
#include "adagp/base/core/text.h"

namespace adagp::data {
namespace {

// Batches of a pool that is sorted as one: enough for batches of nearly equal lengths, few enough
// that a sentence meets different ones.
constexpr int64_t kPool = 50;

using Sequences = std::vector<std::vector<int64_t>>;

// [B, T] filled up with padding; `first` and `last` go around the words, -1 for neither.
at::Tensor padded(const Sequences& all, const std::vector<int64_t>& indices, int64_t first,
                  int64_t last, int64_t multiple, bool pinned) {
  int64_t longest = 0;
  for (const int64_t i : indices) {
    longest = std::max(longest, static_cast<int64_t>(all[static_cast<size_t>(i)].size()) + 1);
  }
  longest = (longest + multiple - 1) / multiple * multiple;
  const auto host = at::TensorOptions(at::kLong).pinned_memory(pinned);
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
  return out;
}

using Pick = std::vector<int64_t>::iterator;

void sort_by_length(const Sentences& sentences, Pick begin, Pick end) {
  const auto lengths = [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    return std::pair(sentences.target[at].size(), sentences.source[at].size());
  };
  std::stable_sort(begin, end, [&](int64_t a, int64_t b) { return lengths(a) < lengths(b); });
}

std::vector<int64_t> by_length(const Sentences& sentences) {
  std::vector<int64_t> order(static_cast<size_t>(sentences.size()));
  std::iota(order.begin(), order.end(), int64_t{0});
  sort_by_length(sentences, order.begin(), order.end());
  return order;
}

// The whole batches of an epoch of training.
std::vector<int64_t> in_pools(const Sentences& sentences, const SentenceLoaderOptions& options,
                              int64_t epoch) {
  const auto number = static_cast<uint64_t>(epoch);
  const int64_t batches = sentences.size() / options.batch;
  auto order = core::permutation(sentences.size(), core::mix({options.seed, number}));
  order.resize(static_cast<size_t>(batches * options.batch));
  const auto pool = static_cast<std::ptrdiff_t>(kPool * options.batch);
  for (auto at = order.begin(); at != order.end();) {
    const auto end = at + std::min(pool, order.end() - at);
    sort_by_length(sentences, at, end);
    at = end;
  }
  std::vector<int64_t> shuffled;
  shuffled.reserve(order.size());
  for (const int64_t b : core::permutation(batches, core::mix({options.seed, number, 1}))) {
    // Within a batch in any order too: its first part must not be its shortest sentences.
    const auto batch = static_cast<uint64_t>(b);
    for (const int64_t i :
         core::permutation(options.batch, core::mix({options.seed, number, 2, batch}))) {
      shuffled.push_back(order[static_cast<size_t>(b * options.batch + i)]);
    }
  }
  return shuffled;
}

StreamOptions stream_options(const std::shared_ptr<const Sentences>& sentences,
                             const SentenceLoaderOptions& options) {
  if (options.multiple < 1) {
    throw UsageError(
        core::cat("lengths in multiples of ", options.multiple, ", expected 1 or more"));
  }
  StreamOptions out;
  out.count = sentences->size();
  out.batch = options.batch;
  out.shuffle = out.drop_last = options.training;
  out.workers = options.workers;
  out.skips = options.skips;
  out.unit = "sentences";
  out.order = [sentences, options](int64_t epoch) {
    return options.training ? in_pools(*sentences, options, epoch) : by_length(*sentences);
  };
  return out;
}

void to_device(Tensors& tensors, at::Device device) {
  for (at::Tensor& tensor : tensors) tensor = tensor.to(device, /*non_blocking=*/true);
}

}  // namespace

Batch make_sentence_batch(const Sentences& sentences, const std::vector<int64_t>& indices,
                          int64_t multiple, bool pinned) {
  Batch batch;
  batch.inputs = {padded(sentences.source, indices, -1, kEnd, multiple, pinned),
                  padded(sentences.target, indices, kBegin, -1, multiple, pinned)};
  batch.targets = {padded(sentences.target, indices, -1, kEnd, multiple, pinned)};
  return batch;
}

SentenceLoader::SentenceLoader(std::shared_ptr<const Sentences> sentences,
                               const SentenceLoaderOptions& options)
    : sentences_(std::move(sentences)),
      stream_(
          stream_options(sentences_, options),
          [all = sentences_, options](const std::vector<int64_t>& indices, int64_t, int64_t) {
            return make_sentence_batch(*all, indices, options.multiple, options.device.is_cuda());
          },
          [device = options.device](Batch batch) {
            to_device(batch.inputs, device);
            to_device(batch.targets, device);
            return batch;
          }) {}

}  // namespace adagp::data

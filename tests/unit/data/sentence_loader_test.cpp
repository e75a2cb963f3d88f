#include "adagp/engine/data/stream/sentence_loader.h"

#include <algorithm>
#include <set>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"

namespace adagp::data {
namespace {

// Pair i is i + 4 repeated, in lengths between 1 and 30.
std::shared_ptr<const Sentences> sentences(int64_t count) {
  auto out = std::make_shared<Sentences>();
  core::Rng rng(3);
  for (int64_t i = 0; i < count; ++i) {
    const auto length = static_cast<size_t>(1 + rng.below(30));
    out->source.emplace_back(length, i + 4);
    out->target.emplace_back(length + static_cast<size_t>(rng.below(3)), i + 4);
    out->reference.emplace_back("r");
  }
  return out;
}

TEST(SentenceLoader, PadsAndMarks) {
  Sentences s;
  s.source = {{7, 8, 9}, {7}};
  s.target = {{5, 6}, {5, 6, 7, 8}};
  const Batch batch = make_sentence_batch(s, {1, 0}, 4);
  EXPECT_TRUE(
      at::equal(batch.inputs[0], at::tensor({7, 3, 1, 1, 7, 8, 9, 3}, at::kLong).view({2, 4})));
  const at::Tensor target =
      at::tensor({2, 5, 6, 7, 8, 1, 1, 1, 2, 5, 6, 1, 1, 1, 1, 1}, at::kLong).view({2, 8});
  const at::Tensor follows =
      at::tensor({5, 6, 7, 8, 3, 1, 1, 1, 5, 6, 3, 1, 1, 1, 1, 1}, at::kLong).view({2, 8});
  EXPECT_TRUE(at::equal(batch.inputs[1], target));
  EXPECT_TRUE(at::equal(batch.targets[0], follows));
}

TEST(SentenceLoader, IsAPureFunctionOfSeedAndEpoch) {
  const auto data = sentences(100);
  const SentenceLoaderOptions options{.batch = 8, .seed = 5};
  SentenceLoader a(data, options), b(data, options);
  std::vector<std::vector<int64_t>> seen;
  for (int i = 0; i < 30; ++i) seen.push_back(a.next().indices);
  b.seek(1, 3);
  EXPECT_EQ(a.batches_per_epoch(), 12);
  EXPECT_EQ(b.next().indices, seen[15]);
  b.skip();
  EXPECT_EQ(b.next().indices, seen[17]);
  b.seek(0, 12);
  EXPECT_EQ(b.next().indices, seen[12]);
  EXPECT_NE(seen[0], seen[12]);
  SentenceLoader other(data, {.batch = 8, .seed = 6});
  EXPECT_NE(other.next().indices, seen[0]);
}

// Threads that work ahead, and batches that nobody will ask for, change nothing of the others.
TEST(SentenceLoader, WorkingAheadAndSkippingChangeNothing) {
  const auto data = sentences(100);
  const auto odd = [](int64_t, int64_t position) { return position % 2 == 1; };
  SentenceLoader plain(data, {.batch = 8, .seed = 5, .workers = 0});
  SentenceLoader ahead(data, {.batch = 8, .seed = 5, .workers = 3, .skips = odd});
  for (int64_t i = 0; i < 30; ++i) {
    const Batch expected = plain.next();
    if (odd(0, expected.position)) {
      ahead.skip();
      continue;
    }
    const Batch batch = ahead.next();
    EXPECT_EQ(batch.indices, expected.indices);
    EXPECT_EQ(batch.epoch, expected.epoch);
    EXPECT_EQ(batch.position, expected.position);
    EXPECT_TRUE(at::equal(batch.inputs[0], expected.inputs[0]));
    EXPECT_TRUE(at::equal(batch.targets[0], expected.targets[0]));
  }
}

TEST(SentenceLoader, UsesEveryPairOnceAndBringsLikeLengthsTogether) {
  const auto data = sentences(2048);
  SentenceLoader loader(data, {.batch = 32});
  std::set<int64_t> used;
  std::set<std::pair<int64_t, int64_t>> shapes;
  double words = 0, places = 0;
  for (int64_t i = 0; i < loader.batches_per_epoch(); ++i) {
    const Batch batch = loader.next();
    for (const int64_t index : batch.indices) EXPECT_TRUE(used.insert(index).second);
    shapes.insert({batch.inputs[0].size(1), batch.inputs[1].size(1)});
    words += batch.targets[0].ne(kPadding).sum().item<double>();
    places += static_cast<double>(batch.targets[0].numel());
  }
  EXPECT_EQ(used.size(), 2048U);
  // Lengths to 33 in steps of 8; the source is at most two words shorter than its target.
  EXPECT_LE(shapes.size(), 12U);
  // Rounding up to 8 wastes 3.5 of 16.5 words on average; random batches would waste half.
  EXPECT_GT(words / places, 0.75);
}

// Methods that take the first part of a batch, and micro-batches, must not get its short sentences.
TEST(SentenceLoader, BatchesAreNotSortedInside) {
  const auto data = sentences(2048);
  SentenceLoader loader(data, {.batch = 32});
  double first = 0, last = 0;
  for (int64_t i = 0; i < loader.batches_per_epoch(); ++i) {
    const at::Tensor lengths = loader.next().targets[0].ne(kPadding).sum(1).to(at::kDouble);
    first += lengths.narrow(0, 0, 16).mean().item<double>();
    last += lengths.narrow(0, 16, 16).mean().item<double>();
  }
  // Sorted batches would differ by half the range of a batch, always in one direction.
  EXPECT_NEAR(first / last, 1, 0.01);
}

TEST(SentenceLoader, EvaluatesEveryPairInOneOrder) {
  const auto data = sentences(21);
  SentenceLoader loader(data, {.batch = 8, .training = false});
  EXPECT_EQ(loader.batches_per_epoch(), 3);
  std::vector<int64_t> first, second;
  for (auto* epoch : {&first, &second}) {
    for (int i = 0; i < 3; ++i) {
      for (const int64_t index : loader.next().indices) epoch->push_back(index);
    }
  }
  EXPECT_EQ(first, second);
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 21U);
}

TEST(SentenceLoader, RefusesLessThanABatch) {
  EXPECT_THROW(SentenceLoader(sentences(5), {.batch = 8}), UsageError);
  EXPECT_THROW(SentenceLoader(sentences(5), {.batch = 0}), UsageError);
}

}  // namespace
}  // namespace adagp::data

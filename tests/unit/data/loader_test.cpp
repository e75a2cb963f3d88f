#include "adagp/engine/data/stream/loader.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "adagp/base/core/error.h"
#include "unit/data/helpers.h"
#include "unit/patience.h"

namespace adagp::data::testing {
namespace {

// Decodes on demand, counts how often, and fails for one index.
class CountingDataset : public Dataset {
 public:
  explicit CountingDataset(int64_t count, int64_t broken = -1)
      : inner_(random_dataset(count, 8)), broken_(broken) {}
  int64_t size() const override { return inner_->size(); }
  const std::vector<int64_t>& labels() const override { return inner_->labels(); }
  at::Tensor image(int64_t index) const override {
    ++decoded;
    if (index == broken_) throw DataError("image 7 is broken");
    return inner_->image(index);
  }
  mutable std::atomic<int64_t> decoded{0};

 private:
  std::shared_ptr<ResidentDataset> inner_;
  int64_t broken_;
};

LoaderOptions small_options(int64_t workers = 0) {
  LoaderOptions options;
  options.batch = 6;
  options.seed = 3;
  options.workers = workers;
  options.augment.height = options.augment.width = 8;
  options.augment.pad = 2;
  return options;
}

std::vector<Batch> take(Loader& loader, int64_t count) {
  std::vector<Batch> batches;
  for (int64_t i = 0; i < count; ++i) batches.push_back(loader.next());
  return batches;
}

void expect_same(const Batch& a, const Batch& b) {
  EXPECT_EQ(a.indices, b.indices);
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_EQ(a.position, b.position);
  EXPECT_TRUE(a.labels().equal(b.labels()));
  EXPECT_TRUE(a.images().equal(b.images()));
}

TEST(Loader, AnEpochIsAPermutationAndTheNextIsAnother) {
  auto options = small_options();
  options.drop_last = false;
  const auto dataset = random_dataset(40, 8);
  Loader loader(dataset, options);
  ASSERT_EQ(loader.batches_per_epoch(), 7);
  std::vector<std::vector<int64_t>> orders(2);
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    for (const auto& batch : take(loader, 7)) {
      EXPECT_EQ(batch.epoch, epoch);
      EXPECT_EQ(batch.images().size(0), batch.position == 6 ? 4 : 6);
      for (size_t i = 0; i < batch.indices.size(); ++i) {
        const int64_t label = dataset->labels()[static_cast<size_t>(batch.indices[i])];
        EXPECT_EQ(batch.labels()[static_cast<int64_t>(i)].item<int64_t>(), label);
        orders[static_cast<size_t>(epoch)].push_back(batch.indices[i]);
      }
    }
  }
  EXPECT_NE(orders[0], orders[1]);
  for (auto& order : orders) {
    std::sort(order.begin(), order.end());
    for (int64_t i = 0; i < 40; ++i) ASSERT_EQ(order[static_cast<size_t>(i)], i);
  }
}

TEST(Loader, WithoutShuffleTheOrderIsTheDataSets) {
  auto options = small_options(1);
  options.shuffle = false;
  Loader loader(random_dataset(13, 8), options);
  EXPECT_EQ(loader.batches_per_epoch(), 2);  // the last one of the 13 is dropped
  const auto batches = take(loader, 3);
  EXPECT_EQ(batches[1].indices, (std::vector<int64_t>{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(batches[2].indices, batches[0].indices);
}

TEST(Loader, ABatchIsTheAugmentedGatherOfItsIndices) {
  const auto dataset = random_dataset(40, 8);
  const auto options = small_options(2);
  Loader loader(dataset, options);
  loader.seek(4, 2);
  const Batch batch = loader.next();
  EXPECT_TRUE(batch.images().is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(batch.images().equal(
      augment_resident(dataset->resident(), batch.indices, options.augment, options.seed, 4)));
}

TEST(Loader, DecodedAndResidentDataGiveTheSameBatchesWithAnyWorkers) {
  Loader reference(random_dataset(40, 8), small_options(0));
  const auto expected = take(reference, 15);
  for (const int64_t workers : {0, 1, 3}) {
    Loader resident(random_dataset(40, 8), small_options(workers));
    Loader decoded(std::make_shared<CountingDataset>(40), small_options(workers));
    for (const auto& batch : expected) {
      expect_same(resident.next(), batch);
      expect_same(decoded.next(), batch);
    }
  }
}

TEST(Loader, PartsOfBatchesMakeTheWholeAndOnlyTheyAreDecoded) {
  for (const int64_t workers : {0, 2}) {
    Loader whole(std::make_shared<CountingDataset>(20), small_options(workers));
    const auto batches = take(whole, 4);  // three of an epoch, one of the next
    for (int64_t part = 0; part < 3; ++part) {
      const auto counted = std::make_shared<CountingDataset>(20);
      {
        Loader loader(counted, small_options(workers));
        loader.only_part(part, 3);
        EXPECT_EQ(loader.batches_per_epoch(), whole.batches_per_epoch());
        const auto found = take(loader, 4);
        for (size_t b = 0; b < found.size(); ++b) {
          EXPECT_TRUE(found[b].images().equal(batches[b].images().narrow(0, part * 2, 2)));
          EXPECT_TRUE(found[b].labels().equal(batches[b].labels().narrow(0, part * 2, 2)));
        }
      }
      EXPECT_LE(counted->decoded, (4 + 2) * 2);  // two batches are made ahead
    }
  }
  Loader loader(std::make_shared<CountingDataset>(20), small_options());
  EXPECT_THROW(loader.only_part(0, 4), Error);  // 6 examples
}

TEST(Loader, ResumesInTheMiddleOfAnEpoch) {
  Loader whole(random_dataset(40, 8), small_options(1));
  const auto expected = take(whole, 15);
  for (const int64_t from : {4, 6, 11}) {
    Loader resumed(random_dataset(40, 8), small_options(1));
    resumed.seek(from / 6, from % 6);
    for (int64_t i = from; i < 15; ++i)
      expect_same(resumed.next(), expected[static_cast<size_t>(i)]);
  }
  // The end of an epoch is the start of the next, and seeking back works with batches in flight.
  whole.seek(0, 6);
  expect_same(whole.next(), expected[6]);
  whole.seek(0, 1);
  expect_same(whole.next(), expected[1]);
  EXPECT_THROW(whole.seek(0, 7), Error);
}

TEST(Loader, SkippedBatchesAreNotDecodedAndChangeNothing) {
  Loader whole(random_dataset(40, 8), small_options(0));
  const auto expected = take(whole, 12);
  for (const int64_t workers : {0, 2}) {
    auto options = small_options(workers);
    // Batches 1, 2, 4, 5 of every epoch are skipped, and the loader knows.
    options.skips = [](int64_t, int64_t position) { return position % 3 != 0; };
    const auto dataset = std::make_shared<CountingDataset>(40);
    {
      Loader loader(dataset, options);
      loader.skip();
      loader.skip();
      EXPECT_EQ(dataset->decoded, 0);
      loader.seek(0, 0);
      for (int64_t i = 0; i < 12; ++i) {
        if (i % 3 == 0) {
          expect_same(loader.next(), expected[static_cast<size_t>(i)]);
        } else {
          loader.skip();
        }
      }
    }
    // Four were wanted; at most two more were being made ahead when the loader ended.
    EXPECT_GE(dataset->decoded, 4 * 6);
    EXPECT_LE(dataset->decoded, (4 + (workers > 0 ? 2 : 0)) * 6);
  }
}

TEST(Loader, AnErrorInAWorkerIsThrownByNext) {
  for (const int64_t workers : {0, 1, 3}) {
    auto options = small_options(workers);
    options.shuffle = false;
    Loader loader(std::make_shared<CountingDataset>(40, 7), options);
    EXPECT_NO_THROW(loader.next());
    EXPECT_EQ(message_of<DataError>([&] { loader.next(); }), "image 7 is broken");
    // The position stays; past the broken batch all is well.
    EXPECT_THROW(loader.next(), DataError);
    loader.skip();
    EXPECT_EQ(loader.next().indices.front(), 12);
  }
}

// Images from `first` on take until the gate is opened.
class GatedDataset : public Dataset {
 public:
  GatedDataset(int64_t count, int64_t first) : inner_(random_dataset(count, 8)), first_(first) {}
  int64_t size() const override { return inner_->size(); }
  const std::vector<int64_t>& labels() const override { return inner_->labels(); }
  at::Tensor image(int64_t index) const override {
    std::unique_lock lock(mutex_);
    decoded_.insert(index);
    ++inside_;
    opened_.wait(lock, [&] { return open_ || index < first_; });
    --inside_;
    return inner_->image(index);
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  int64_t inside() const {
    const std::lock_guard lock(mutex_);
    return inside_;
  }
  std::set<int64_t> decoded() const {
    const std::lock_guard lock(mutex_);
    return decoded_;
  }

 private:
  std::shared_ptr<ResidentDataset> inner_;
  int64_t first_;
  bool open_ = false;
  mutable std::mutex mutex_;
  mutable std::condition_variable opened_;
  mutable int64_t inside_ = 0;
  mutable std::set<int64_t> decoded_;
};

LoaderOptions looking_far_ahead(int64_t workers) {
  auto options = small_options(workers);
  options.shuffle = false;
  options.prefetch = 8;
  return options;
}

std::set<int64_t> examples(int64_t begin, int64_t end) {
  std::set<int64_t> out;
  for (int64_t i = begin; i < end; ++i) out.insert(i);
  return out;
}

// Whether a thread of this process waits for something.
bool sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.at(text.rfind(')') + 2) == 'S';  // behind the name, which may hold anything
}

TEST(Loader, AtItsEndWaitsForWhatRunsAndStartsNothingMore) {
  for (const int64_t workers : {1, 3}) {
    const auto dataset = std::make_shared<GatedDataset>(400, 6);
    std::jthread opener;
    {
      Loader loader(dataset, looking_far_ahead(workers));
      loader.next();
      // Every worker is in the middle of a batch, and the others of the eight are still to come.
      EXPECT_TRUE(adagp::testing::becomes_true([&] { return dataset->inside() == workers; }));
      // It opens when this thread waits for the workers, at the end of the loader.
      opener = std::jthread([&dataset, waits = gettid()] {
        EXPECT_TRUE(adagp::testing::becomes_true([&] { return sleeps(waits); }));
        dataset->open();
      });
    }
    EXPECT_EQ(dataset->inside(), 0) << "a worker outlives its loader";
    EXPECT_EQ(dataset->decoded(), examples(0, 6 + 6 * workers));
    EXPECT_EQ(dataset.use_count(), 1);
  }
}

TEST(Loader, SeekingWithWorkInFlightDropsWhatHasNotStarted) {
  Loader whole(random_dataset(400, 8), looking_far_ahead(0));
  whole.seek(0, 20);
  const Batch expected = whole.next();
  for (const int64_t workers : {1, 3}) {
    const auto dataset = std::make_shared<GatedDataset>(400, 6);
    Loader loader(dataset, looking_far_ahead(workers));
    loader.next();
    EXPECT_TRUE(adagp::testing::becomes_true([&] { return dataset->inside() == workers; }));
    loader.seek(0, 20);
    dataset->open();
    expect_same(loader.next(), expected);
    for (const int64_t index : dataset->decoded()) {
      EXPECT_TRUE(index < 6 + 6 * workers || index >= 20 * 6) << index;
    }
  }
}

TEST(Loader, ResidentImagesOfAnotherSizeAreResized) {
  auto options = small_options(1);
  options.augment.height = options.augment.width = 5;
  Loader loader(random_dataset(12, 8), options);
  EXPECT_EQ(loader.next().images().sizes(), at::IntArrayRef({6, 3, 5, 5}));
}

TEST(Loader, RefusesWhatCannotBe) {
  auto options = small_options();
  options.batch = 41;
  expect_part(message_of<UsageError>([&] { Loader(random_dataset(40, 8), options); }),
              "40 images do not fill one batch of 41");
  options.batch = 0;
  EXPECT_THROW(Loader(random_dataset(40, 8), options), UsageError);
}

}  // namespace
}  // namespace adagp::data::testing

// Epochs that are decided as they begin.

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/data/stream/loader.h"
#include "unit/data/helpers.h"

namespace adagp::data {
namespace {

LoaderOptions options(int64_t workers) {
  LoaderOptions out;
  out.batch = 6;
  out.workers = workers;
  out.augment.height = out.augment.width = 8;
  out.augment.pad = 2;
  return out;
}

// Epoch e has e + 1 batches, of 2, 3, 4 ... examples.
std::shared_ptr<const EpochPlan> growing(int64_t epoch) {
  auto plan = std::make_shared<EpochPlan>();
  int64_t begin = 0;
  for (int64_t i = 0; i <= epoch; ++i) {
    plan->batches.push_back({begin, i + 2});
    begin += i + 2;
  }
  for (int64_t i = 0; i < begin; ++i) plan->order.push_back((i * 7 + epoch) % 40);
  return plan;
}

TEST(Plan, BatchesAreThePlannedOnesAndSeekingFindsThem) {
  const auto data = testing::random_dataset(40, 8);
  for (const int64_t workers : {0, 2}) {
    auto o = options(workers);
    o.plan = growing;
    Loader loader(data, o);
    for (int64_t epoch = 0; epoch < 4; ++epoch) {
      const auto plan = growing(epoch);
      for (size_t i = 0; i < plan->batches.size(); ++i) {
        const Batch batch = loader.next();
        EXPECT_EQ(batch.epoch, epoch);
        EXPECT_EQ(batch.position, static_cast<int64_t>(i));
        const auto& part = plan->batches[i];
        const auto first = plan->order.begin() + part.begin;
        EXPECT_EQ(batch.indices, std::vector<int64_t>(first, first + part.count));
        EXPECT_EQ(batch.size(), part.count);
        EXPECT_EQ(batch.labels()[0].item<int64_t>(), batch.indices[0] % 10);
      }
    }
    loader.seek(3, 2);
    EXPECT_EQ(loader.next().size(), 4);
    loader.seek(2, 3);  // the end of an epoch is the start of the next
    EXPECT_EQ(loader.next().epoch, 3);
    EXPECT_THROW(loader.seek(2, 4), Error);
  }
}

TEST(Plan, IsAskedWhenAnEpochBeginsAndNotBefore) {
  const auto data = testing::random_dataset(40, 8);
  auto o = options(2);
  int64_t latest = -1;
  o.plan = [&](int64_t epoch) {
    latest = std::max(latest, epoch);
    return growing(epoch);
  };
  Loader loader(data, o);
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    for (int64_t i = 0; i <= epoch; ++i) {
      loader.next();
      EXPECT_EQ(latest, epoch);
    }
  }
}

}  // namespace
}  // namespace adagp::data

// Batches of pictures with boxes, and the generated ones.

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/data/sets/registry.h"
#include "unit/data/helpers.h"

namespace adagp::data {
namespace {

using testing::expect_part;
using testing::message_of;

DetectionSplits small_splits(int64_t train = 12) {
  Config config;
  config.name = "synthetic-detection";
  config.image_size = 64;
  config.synthetic_train = train;
  config.synthetic_test = 7;
  return open_detection(config);
}

DetectionOptions small_options(const DetectionSplits& splits, bool training) {
  DetectionOptions options;
  options.batch = 4;
  options.training = training;
  options.seed = 9;
  options.size = splits.size;
  options.most = most_objects(*splits.train);
  options.mean = splits.mean;
  options.std = splits.std;
  return options;
}

TEST(SyntheticDetection, ObjectsLieInThePictureAndClassesAllOccur) {
  const auto splits = small_splits(200);
  std::vector<int64_t> seen(splits.classes.size());
  for (int64_t i = 0; i < splits.train->size(); ++i) {
    const auto& objects = splits.train->objects(i);
    ASSERT_GE(objects.size(), 1U);
    ASSERT_LE(objects.size(), 5U);
    for (const auto& o : objects) {
      ++seen.at(static_cast<size_t>(o.label));
      EXPECT_GE(o.box.left, 0);
      EXPECT_GE(o.box.top, 0);
      EXPECT_LE(o.box.right, 64);
      EXPECT_LE(o.box.bottom, 64);
      EXPECT_GE(o.box.right - o.box.left, 6);
      EXPECT_GE(o.box.bottom - o.box.top, 6);
    }
  }
  for (const int64_t count : seen) EXPECT_GT(count, 40);
}

TEST(SyntheticDetection, IsAPureFunctionAndTheHalvesDiffer) {
  const auto a = small_splits(), b = small_splits();
  EXPECT_TRUE(at::equal(a.train->image(3), b.train->image(3)));
  EXPECT_EQ(a.train->objects(3), b.train->objects(3));
  EXPECT_FALSE(at::equal(a.train->image(3), a.test->image(3)));
}

TEST(DetectionBatches, TestPicturesKeepTheirPixelsAndBoxes) {
  const auto splits = small_splits();
  auto options = small_options(splits, false);
  options.batch = 3;
  options.most = most_objects(*splits.test);
  const auto source = detection_batches(splits.test, options);
  EXPECT_EQ(source->batches_per_epoch(), 3);  // the last one is not whole
  source->seek(0, 1);
  const Batch batch = source->next();
  EXPECT_EQ(batch.indices, (std::vector<int64_t>{3, 4, 5}));
  ASSERT_EQ(batch.targets.size(), 2U);
  EXPECT_EQ(batch.targets[1].sizes(), (std::vector<int64_t>{3, 0, 5}));
  for (int64_t i = 0; i < 3; ++i) {
    const at::Tensor image = splits.test->image(3 + i).to(at::kDouble).permute({2, 0, 1}) / 255.0;
    const at::Tensor mean = at::tensor(splits.mean).view({3, 1, 1});
    const at::Tensor std = at::tensor(splits.std).view({3, 1, 1});
    EXPECT_TRUE(at::allclose(batch.images()[i].to(at::kDouble), (image - mean) / std, 1e-5, 1e-5));
    const auto& objects = splits.test->objects(3 + i);
    for (int64_t k = 0; k < options.most; ++k) {
      const at::Tensor row = batch.targets[0][i][k];
      if (k >= static_cast<int64_t>(objects.size())) {
        EXPECT_EQ(row[0].item<float>(), -1);
        continue;
      }
      const auto& o = objects[static_cast<size_t>(k)];
      EXPECT_EQ(row[0].item<float>(), static_cast<float>(o.label));
      EXPECT_FLOAT_EQ(row[1].item<float>() * 128, static_cast<float>(o.box.left + o.box.right));
      EXPECT_FLOAT_EQ(row[4].item<float>() * 64, static_cast<float>(o.box.bottom - o.box.top));
    }
  }
}

TEST(DetectionBatches, ThreadsSeekingAndSkippingChangeNothing) {
  const auto splits = small_splits();
  auto options = small_options(splits, true);
  options.workers = 0;
  const auto plain = detection_batches(splits.train, options);
  std::vector<Batch> expected;
  for (int i = 0; i < 6; ++i) expected.push_back(plain->next());  // two epochs of three
  EXPECT_FALSE(at::equal(expected[0].images(), expected[3].images()));

  options.workers = 3;
  options.skips = [](int64_t, int64_t position) { return position == 1; };
  const auto ahead = detection_batches(splits.train, options);
  for (size_t i = 0; i < 6; ++i) {
    if (i % 3 == 1) {
      ahead->skip();
      continue;
    }
    const Batch batch = ahead->next();
    EXPECT_EQ(batch.indices, expected[i].indices);
    EXPECT_TRUE(at::equal(batch.images(), expected[i].images()));
    EXPECT_TRUE(at::equal(batch.targets[0], expected[i].targets[0]));
  }
  ahead->seek(1, 2);
  EXPECT_TRUE(at::equal(ahead->next().images(), expected[5].images()));
}

TEST(DetectionBatches, TooFewPicturesForABatch) {
  const auto splits = small_splits();
  auto options = small_options(splits, true);
  options.batch = 13;
  expect_part(message_of<UsageError>([&] { detection_batches(splits.train, options); }),
              "12 images do not fill one batch of 13");
}

}  // namespace
}  // namespace adagp::data

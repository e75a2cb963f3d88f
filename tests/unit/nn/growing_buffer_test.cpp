// Which statistics a dense block's buffer takes for those of a map. No kernel is needed for that.

#include "adagp/engine/nn/growing_buffer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace adagp::nn {
namespace {

constexpr int64_t kWhole = 24;

at::Tensor like(at::ScalarType type = at::kFloat, int64_t batch = 2) {
  return at::zeros({batch, 8, 3, 5}, type).contiguous(at::MemoryFormat::ChannelsLast);
}

at::Tensor first(const at::Tensor& map, int64_t channels) {
  return map.narrow(1, 0, channels);
}

TEST(GrowingBuffer, HasTheMapAndBehindItTheStatistics) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    GrowingBuffer buffer(kWhole);
    const auto [map, statistics] = buffer.make(like(type));
    EXPECT_EQ(map.sizes(), (std::vector<int64_t>{2, kWhole, 3, 5}));
    EXPECT_TRUE(map.is_contiguous(at::MemoryFormat::ChannelsLast));
    EXPECT_EQ(map.scalar_type(), type);
    const auto* begin = static_cast<const char*>(map.const_data_ptr());
    const auto* mean = reinterpret_cast<const char*>(statistics.mean);
    EXPECT_GE(mean, begin + map.numel() * map.element_size());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(mean) % alignof(float), 0U);
    EXPECT_EQ(statistics.variance, statistics.mean + kWhole);
    const auto* end = reinterpret_cast<const char*>(statistics.variance + kWhole);
    EXPECT_LE(end, begin + map.storage().nbytes());
  }
}

TEST(GrowingBuffer, KnowsTheChannelsThatWereWrittenAndNoOthers) {
  GrowingBuffer buffer(kWhole);
  const auto [map, statistics] = buffer.make(like());
  EXPECT_FALSE(buffer.of(first(map, 8))) << "nothing was written";
  buffer.set_known(map, 8);
  ASSERT_TRUE(buffer.of(first(map, 8)));
  EXPECT_EQ(buffer.of(first(map, 8))->mean, statistics.mean);
  EXPECT_EQ(buffer.of(first(map, 8))->variance, statistics.variance);
  EXPECT_TRUE(buffer.of(first(map, 5)));
  EXPECT_FALSE(buffer.of(first(map, 9)));
  ASSERT_TRUE(buffer.behind(first(map, 8)));
  EXPECT_EQ(buffer.behind(first(map, 8))->mean, statistics.mean + 8);
  EXPECT_EQ(buffer.behind(first(map, 8))->variance, statistics.variance + 8);
  EXPECT_FALSE(buffer.behind(first(map, 9)));
  buffer.set_known(map, kWhole);
  EXPECT_TRUE(buffer.of(map));
  EXPECT_FALSE(buffer.behind(map)) << "no room is left";
  // Written again from an earlier channel on: what was behind it is gone.
  buffer.set_known(first(map, 8), 16);
  EXPECT_TRUE(buffer.of(first(map, 16)));
  EXPECT_FALSE(buffer.of(map));
}

TEST(GrowingBuffer, TakesNoOtherViewForItsMap) {
  GrowingBuffer buffer(kWhole);
  const at::Tensor map = buffer.make(like()).map;
  buffer.set_known(map, kWhole);
  ASSERT_TRUE(buffer.of(first(map, 8)));
  EXPECT_FALSE(buffer.of(map.narrow(1, 1, 8))) << "other channels";
  EXPECT_FALSE(buffer.of(first(map, 8).narrow(0, 0, 1))) << "one image";
  EXPECT_FALSE(buffer.of(first(map, 8).narrow(2, 0, 1))) << "one row of each image";
  EXPECT_FALSE(buffer.of(first(map, 8).contiguous(at::MemoryFormat::ChannelsLast))) << "a copy";
  EXPECT_FALSE(buffer.of(map.flatten())) << "no map";
  EXPECT_FALSE(buffer.of(at::Tensor(map.clone())));
  EXPECT_TRUE(buffer.of(first(map, 8).variable_data())) << "as autograd's functions return it";
}

TEST(GrowingBuffer, ForgetsWhatItMadeBefore) {
  GrowingBuffer buffer(kWhole), other(kWhole);
  at::Tensor map = buffer.make(like()).map;
  buffer.set_known(map, kWhole);
  EXPECT_FALSE(other.of(map)) << "nothing was made";
  const at::Tensor next = buffer.make(like()).map;
  EXPECT_FALSE(buffer.of(next));
  EXPECT_FALSE(buffer.of(map)) << "its statistics are there, but it is not this one's any more";
  buffer.set_known(map, kWhole);
  EXPECT_FALSE(buffer.of(next)) << "what was written elsewhere";
}

// The memory is given back, and what takes its place is not taken for it.
TEST(GrowingBuffer, KeepsNoMemoryAliveAndKnowsNoLaterOne) {
  GrowingBuffer buffer(kWhole);
  at::Tensor map = buffer.make(like()).map;
  buffer.set_known(map, kWhole);
  const c10::weak_intrusive_ptr<c10::StorageImpl> memory = map.storage().getWeakStorageImpl();
  const auto elements = static_cast<int64_t>(map.storage().nbytes()) / 4;
  map.reset();
  EXPECT_TRUE(memory.expired());
  for (int i = 0; i < 8; ++i) {  // allocators like to give the same address
    const at::Tensor later =
        at::zeros({elements}).as_strided({2, 8, 3, 5}, {15 * kWhole, 1, 5 * kWhole, kWhole});
    EXPECT_FALSE(buffer.of(later));
  }
}

}  // namespace
}  // namespace adagp::nn

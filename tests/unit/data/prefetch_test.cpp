#include "adagp/engine/data/stream/prefetch.h"

#include <gtest/gtest.h>

namespace adagp::data {
namespace {

TEST(Prefetcher, HandsOutEachResultOnce) {
  Prefetcher<int, int> ahead(2);
  for (const int key : {3, 4, 5}) ahead.start(key, [key] { return key * key; });
  for (const int key : {5, 3, 4}) EXPECT_EQ(ahead.take(key), key * key);
  EXPECT_THROW(ahead.take(3), Error);  // taken already
  EXPECT_THROW(ahead.take(6), Error);  // never started
}

}  // namespace
}  // namespace adagp::data

#include "adagp/engine/metrics/timer.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace adagp::metrics {
namespace {

TEST(Stopwatch, MeasuresSleep) {
  Stopwatch watch;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto before = std::chrono::steady_clock::now();
  EXPECT_GE(watch.restart(), 0.02);
  const double since = watch.seconds();
  EXPECT_LE(since,
            std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
}

}  // namespace
}  // namespace adagp::metrics

#include "adagp/core/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>
#include <thread>

namespace adagp::core {
namespace {

TEST(StopAfter, EndOfTheTimeIsAPendingSignalUntilTheLimitIsTakenBack) {
  stop_after(3600);
  EXPECT_EQ(pending_signal(), 0);
  EXPECT_FALSE(time_is_up());
  stop_after(1e-6);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(pending_signal(), SIGALRM);
  EXPECT_TRUE(time_is_up());
  stop_after(0);
  EXPECT_EQ(pending_signal(), 0);
}

}  // namespace
}  // namespace adagp::core

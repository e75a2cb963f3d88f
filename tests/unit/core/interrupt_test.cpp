#include "adagp/base/core/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "unit/in_child.h"

namespace adagp::core {
namespace {

using testing::in_child;

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

// Exit codes of a child that gets these signals one after the other; 0: it goes on to its end.
int after(const std::vector<int>& signals) {
  return in_child([&] {
    catch_signals();
    if (pending_signal() != 0) return 1;
    for (const int signal : signals) {
      raise(signal);
      if (pending_signal() != signal) return 2;
    }
    return 0;
  });
}

TEST(CatchSignals, TwoAskForTheSameAndTheThirdEndsWithTheExitCodeOfASignal) {
  EXPECT_EQ(after({}), 0);
  EXPECT_EQ(after({SIGTERM}), 0);
  EXPECT_EQ(after({SIGTERM, SIGTERM}), 0) << "as `timeout` sends it";
  EXPECT_EQ(after({SIGTERM, SIGINT}), 0);
  EXPECT_EQ(after({SIGTERM, SIGTERM, SIGTERM}), 128 + SIGTERM);
  EXPECT_EQ(after({SIGTERM, SIGTERM, SIGINT}), 128 + SIGINT);
}

}  // namespace
}  // namespace adagp::core

// Do threads start together, or not at all?

#include "adagp/base/core/threads.h"

#include <pthread.h>

#include <atomic>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"

namespace adagp::core {
namespace {

// Threads that begin while it lives are to have stacks for which no machine has room.
class StacksThatDoNotFit {
 public:
  StacksThatDoNotFit() { pthread_getattr_default_np(&before_); }
  ~StacksThatDoNotFit() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  StacksThatDoNotFit(const StacksThatDoNotFit&) = delete;
  StacksThatDoNotFit& operator=(const StacksThatDoNotFit&) = delete;

  static void from_now_on() {
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, size_t{1} << 46);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }

 private:
  pthread_attr_t before_{};
};

TEST(Threads, AllOfThemRun) {
  std::atomic<int> ran = 0;
  start_threads(
      3, [&] { ++ran; }, [] {});
  EXPECT_EQ(ran, 3);
  EXPECT_TRUE(start_threads(
                  0, [&] { ++ran; }, [] {})
                  .empty());
  EXPECT_EQ(ran, 3);
}

TEST(Threads, TooManyForTheMachineAreRefused) {
  const int64_t most = 16 * hardware_threads();
  check_thread_count("threads", most);
  try {
    check_thread_count("threads", most + 1);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()),
              "threads = " + std::to_string(most + 1) + ": expected at most " +
                  std::to_string(most) + " threads on this machine, 16 for each of its " +
                  std::to_string(hardware_threads()) + " hardware threads");
  }
  EXPECT_THROW(check_thread_count("threads", 4'294'967'297), UsageError);
}

TEST(Threads, WhenOneCannotStartTheOthersAreJoinedAndAnErrorSaysSo) {
  const StacksThatDoNotFit stacks;
  std::atomic<bool> stopping = false;
  std::atomic<int> running = 0;
  const auto body = [&] {
    ++running;
    StacksThatDoNotFit::from_now_on();  // so that some threads run when the next one fails
    stopping.wait(false);
    --running;
  };
  const auto stop = [&] {
    stopping = true;
    stopping.notify_all();
  };
  try {
    start_threads(100'000, body, stop);
    FAIL() << "they were all started";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(" of 100000 cannot be started"), std::string::npos) << text;
    EXPECT_NE(text.find("augment.workers"), std::string::npos) << text;
  }
  EXPECT_TRUE(stopping);
  EXPECT_EQ(running, 0);
}

}  // namespace
}  // namespace adagp::core

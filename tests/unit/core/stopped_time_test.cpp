// Time in which the process does not run is noticed, and only that.

#include "adagp/base/core/stopped_time.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

namespace adagp::core {
namespace {

using namespace std::chrono_literals;

// Stops a process that watches its clock for as long, and returns what it noticed.
double noticed(std::chrono::milliseconds stop) {
  int ready[2], go[2], answer[2];
  EXPECT_EQ(pipe(ready), 0);
  EXPECT_EQ(pipe(go), 0);
  EXPECT_EQ(pipe(answer), 0);
  const pid_t child = fork();
  if (child == 0) {
    const StoppedTimeWatch watch;
    char byte = 0;
    bool fine = write(ready[1], &byte, 1) == 1;
    fine = read(go[0], &byte, 1) == 1 && fine;  // stopped and continued meanwhile
    const double seconds = stopped_seconds();
    fine = write(answer[1], &seconds, sizeof(seconds)) == sizeof(seconds) && fine;
    _exit(fine ? 0 : 1);
  }
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  kill(child, SIGSTOP);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(WIFSTOPPED(status));
  std::this_thread::sleep_for(stop);
  kill(child, SIGCONT);
  EXPECT_EQ(write(go[1], &byte, 1), 1);
  double seconds = -1;
  EXPECT_EQ(read(answer[0], &seconds, sizeof(seconds)), static_cast<ssize_t>(sizeof(seconds)));
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  for (const int end : {ready[0], ready[1], go[0], go[1], answer[0], answer[1]}) close(end);
  return seconds;
}

TEST(StoppedTime, OfASignalIsNoticed) {
  // It looks at the clock every 0.1 s; on a busy machine the stop itself may last longer.
  EXPECT_GE(noticed(1500ms), 1.5 - 0.1);
}

TEST(StoppedTime, IsNoneWithoutAWatch) {
  const double before = stopped_seconds();
  std::this_thread::sleep_for(1100ms);
  EXPECT_EQ(stopped_seconds(), before);
  const StoppedTimeWatch watch;  // what was before it is not its concern
  EXPECT_EQ(stopped_seconds(), before);
}

TEST(StoppedTime, SuspensionNeverRunsBackwards) {
  EXPECT_GE(suspended_seconds(), 0);
}

}  // namespace
}  // namespace adagp::core

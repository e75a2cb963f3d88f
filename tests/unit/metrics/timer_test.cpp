#include "adagp/metrics/timer.h"

#include <chrono>
#include <cmath>
#include <thread>

#include <gtest/gtest.h>

#include "adagp/core/error.h"

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

TEST(StepTimer, KeepsPhasesApart) {
  StepTimer timer;
  timer.add("bp", 3);
  timer.add("gp", 1);
  timer.add("bp", 5);
  EXPECT_EQ(timer.total("bp"), 8);
  EXPECT_EQ(timer.total("gp"), 1);
  EXPECT_EQ(timer.total("other"), 0);
  EXPECT_EQ(timer.total(), 9);
  EXPECT_EQ(timer.count("bp"), 2);
  EXPECT_EQ(timer.median("bp"), 4);
  EXPECT_TRUE(std::isnan(timer.median("other")));
}

TEST(StepTimer, MedianIsOfTheWindowAndTotalOfEverything) {
  StepTimer timer(3);
  for (const double s : {100.0, 100.0, 2.0, 9.0, 4.0}) timer.add("bp", s);
  EXPECT_EQ(timer.median("bp"), 4);
  EXPECT_EQ(timer.total("bp"), 215);
}

TEST(StepTimer, ResumesInTheMiddle) {
  StepTimer whole(3), before(3), after(3);
  for (const double s : {7.0, 1.0, 2.0, 9.0}) whole.add("bp", s), before.add("bp", s);
  before.add("gp", 1), whole.add("gp", 1);
  after.add("stale", 1);
  after.load_state(before.state());
  for (StepTimer* timer : {&whole, &after}) timer->add("bp", 3.0);
  EXPECT_EQ(after.state(), whole.state());
  EXPECT_EQ(after.median("bp"), 3);
  EXPECT_THROW(after.load_state({{"bp", {1.0}}}), DataError);
}

}  // namespace
}  // namespace adagp::metrics

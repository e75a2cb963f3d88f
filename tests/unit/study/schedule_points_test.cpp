#include "adagp/papers/study/sweep_points.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "adagp/base/core/error.h"
#include "adagp/base/schedule/schedule.h"

namespace adagp::study {
namespace {

std::map<std::string, schedule::Schedule> parsed(int64_t epochs) {
  std::map<std::string, schedule::Schedule> out;
  for (const SweepPoint& point : schedule_points(epochs)) {
    out.emplace(point.name, schedule::Schedule::parse(point.values.at(0).second, epochs));
  }
  return out;
}

TEST(SchedulePoints, PlacesOfGpHaveThePublishedShareUpToAnEpoch) {
  for (const int64_t epochs : {9, 30, 90, 200}) {
    const auto points = parsed(epochs);
    const double published = points.at("published").predicted_share(epochs, 1000);
    for (const char* name : {"rising", "early", "late"}) {
      // Half an epoch of 3:1 is rounded away.
      EXPECT_NEAR(points.at(name).predicted_share(epochs, 1000), published,
                  0.376 / static_cast<double>(epochs))
          << name << " of " << epochs;
    }
  }
}

TEST(SchedulePoints, EarlyIsBeforeMiddleBeforeLate) {
  const auto points = parsed(90);
  const auto gp_in = [&](const char* name, int64_t from, int64_t to) {
    const schedule::Schedule& one = points.at(name);
    return one.predicted_batches(to, 100) - one.predicted_batches(from, 100);
  };
  EXPECT_GT(gp_in("early", 0, 30), gp_in("middle", 0, 30));
  EXPECT_GT(gp_in("middle", 0, 30), gp_in("late", 0, 30));
  EXPECT_GT(gp_in("late", 60, 90), gp_in("middle", 60, 90));
  EXPECT_GT(gp_in("middle", 60, 90), gp_in("early", 60, 90));
  EXPECT_GT(gp_in("rising", 78, 90), gp_in("published", 78, 90));
}

TEST(SchedulePoints, NoScheduleIsThereTwice) {
  for (int64_t epochs = kLeastStudyEpochs; epochs < 40; ++epochs) {
    std::set<std::string> texts;
    for (const SweepPoint& point : schedule_points(epochs)) {
      EXPECT_TRUE(texts.insert(point.values.at(0).second).second) << point.name << " of " << epochs;
    }
  }
  EXPECT_THROW(schedule_points(kLeastStudyEpochs - 1), UsageError);
}

}  // namespace
}  // namespace adagp::study

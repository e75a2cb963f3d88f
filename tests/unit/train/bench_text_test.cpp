// What `adagp bench` says of its figures.

#include <gtest/gtest.h>

#include "adagp/lab/experiment/bench.h"

namespace adagp::experiment {
namespace {

TEST(BenchText, TellsWhenEqualStepsTookVeryDifferentTimes) {
  BenchResult result;
  result.times.forward = {.median = 0.010, .p10 = 0.009, .p90 = 0.011};
  result.times.bp = {.median = 0.030, .p10 = 0.020, .p90 = 0.059};
  EXPECT_EQ(result.text().find("OMP_WAIT_POLICY"), std::string::npos);
  result.times.bp.p90 = 0.061;  // over three times the lower end
  EXPECT_NE(result.text().find("OMP_WAIT_POLICY=passive"), std::string::npos);
}

}  // namespace
}  // namespace adagp::experiment

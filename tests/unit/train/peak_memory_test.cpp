// Memory of a process that is started to be measured: here this test program itself.

#include "adagp/lab/experiment/peak_memory.h"

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/lab/experiment/bench.h"
#include "unit/train/small.h"

namespace adagp::experiment {
namespace {

TEST(PeakMemory, DISABLED_OfAProcessThatFails) {
  FAIL() << "as it shall";
}

TEST(PeakMemory, OfAnotherProcessIsMeasured) {
  constexpr double kMiB = 1024.0 * 1024.0;
  EXPECT_GT(peak_of_program({"peak", "--gtest_list_tests"}), kMiB);
}

TEST(PeakMemory, OfAProcessThatFailsIsAnError) {
  try {
    peak_of_program({"peak", "--gtest_also_run_disabled_tests",
                     "--gtest_filter=PeakMemory.DISABLED_OfAProcessThatFails"});
    FAIL() << "measured";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("exit code 1"), std::string::npos) << error.what();
  }
}

TEST(PeakMemory, ThatCannotBeMeasuredIsLeftOutAndNot0) {
  config::RunConfig config = small::config();
  config.batch = 4;
  const PeakMeter meter = [](const std::string& kind) -> double {
    if (kind == "gp") throw Error("its process ended with exit code 1");
    return 1024.0 * 1024.0;
  };
  ::testing::internal::CaptureStderr();
  const BenchResult result = bench(config, "8x8", 1, "", meter);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("peak memory of a gp step: not measured"), std::string::npos) << said;
  const auto peak = result.to_json().at("peak_mib");
  EXPECT_EQ(peak.at("fw"), 1.0);
  EXPECT_TRUE(peak.at("gp").is_null());
  EXPECT_NE(result.text().find("peak memory: forward 1.0 MiB, BP 1.0 MiB"), std::string::npos)
      << result.text();
}

}  // namespace
}  // namespace adagp::experiment

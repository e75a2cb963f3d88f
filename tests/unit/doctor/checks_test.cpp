// What doctor concludes from what it finds.

#include <gtest/gtest.h>

#include "adagp/lab/doctor/hardware.h"

namespace adagp::doctor {
namespace {

Driver driver_for(int cuda) {
  Driver driver;
  driver.cuda = cuda;
  return driver;
}

// CUDA's minor version compatibility: within a major version, an older driver is enough.
TEST(DriverCheck, AnOlderMinorVersionIsEnough) {
  EXPECT_EQ(driver_check(driver_for(13000), 13020).health, Health::kOk);
  EXPECT_EQ(driver_check(driver_for(13020), 13000).health, Health::kOk);
  EXPECT_EQ(driver_check(driver_for(14000), 13000).health, Health::kOk);
}

TEST(DriverCheck, AnOlderMajorVersionIsTooOldAndSaysBoth) {
  const Check check = driver_check(driver_for(12080), 13000);
  EXPECT_EQ(check.health, Health::kWarn);
  EXPECT_NE(check.value.find("CUDA 12.8"), std::string::npos) << check.value;
  EXPECT_NE(check.value.find("CUDA 13.0"), std::string::npos) << check.value;
  EXPECT_NE(check.advice.find("CUDA 13 or newer"), std::string::npos) << check.advice;
}

TEST(DriverCheck, AnyDriverIsEnoughForAProgramWithoutCuda) {
  EXPECT_EQ(driver_check(driver_for(9000), 0).health, Health::kOk);
}

TEST(LibraryCheck, AMissingLibraryIsAWarningThatNamesItsPackage) {
  const Check missing = library_check("PNG", false, "no .png images", "libpng-dev");
  EXPECT_EQ(missing.health, Health::kWarn);
  EXPECT_NE(missing.advice.find("install libpng-dev"), std::string::npos) << missing.advice;
  const Check present = library_check("PNG", true, "no .png images", "libpng-dev");
  EXPECT_EQ(present.health, Health::kOk);
  EXPECT_TRUE(present.advice.empty());
}

TEST(TrainingPossible, WarningsDoNotPreventItAndOneFailureDoes) {
  std::vector<Check> checks{{"a", Health::kOk, "", ""}, {"b", Health::kWarn, "", ""}};
  EXPECT_TRUE(training_possible(checks));
  checks.push_back({"c", Health::kFail, "", ""});
  EXPECT_FALSE(training_possible(checks));
}

}  // namespace
}  // namespace adagp::doctor

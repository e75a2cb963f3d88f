#include "adagp/base/core/duration.h"

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"

namespace adagp::core {
namespace {

TEST(Duration, ParsesBothUnits) {
  EXPECT_EQ(Duration::parse("90ep").batches(391), 90 * 391);
  EXPECT_EQ(Duration::parse("500ba").batches(391), 500);
  EXPECT_EQ(Duration::parse(" 0.5 ep ").batches(391), 196);  // 195.5 rounds up
  EXPECT_EQ(Duration::parse("0ep").batches(391), 0);
}

TEST(Duration, BeyondAnyRunStaysPositive) {
  for (const char* text : {"1e300ep", "1e300ba", "9e18ep"}) {
    EXPECT_EQ(Duration::parse(text).batches(391), 1'000'000'000'000'000'000) << text;
  }
}

TEST(Duration, RefusesWhatIsNoDurationAndShowsIt) {
  for (const char* bad :
       {"", "ep", "90", "-1ep", "nanep", "infba", "1e999ba", "90 epochs", "9 0ep"}) {
    try {
      Duration::parse(bad);
      FAIL() << "accepted '" << bad << "'";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(std::string("'") + bad + "'"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace adagp::core

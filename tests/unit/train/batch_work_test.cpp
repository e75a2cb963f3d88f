// Every method says what its batches are to hardware, or is known not to.

#include <set>

#include <gtest/gtest.h>

#include "../with_rivals.h"
#include "adagp/base/plan/batch_work.h"
#include "adagp/engine/method/table.h"

namespace adagp::method {
namespace {

// Of these the simulator refuses runs.
const std::vector<std::string> kNotCosted = testing::with_rivals(
    {"ema", "small-batch"},
    {"selective", "partial", "modules", "xgrad", "dropback", "control-variate", "noise", "auto"});

TEST(BatchWork, EveryMethodIsCostedOrKnownNotToBe) {
  std::set<std::string> without;
  for (const MethodEntry& entry : method_table()) {
    config::RunConfig config;
    config.method = entry.name;
    if (plan::work_of(config, schedule::Phase::kBackprop) == plan::Work::kOther) {
      without.insert(entry.name);
    }
  }
  EXPECT_EQ(without, std::set<std::string>(kNotCosted.begin(), kNotCosted.end()))
      << "a new method has a line in kSteps (base/plan/batch_work.cpp) or in the list above";
}

}  // namespace
}  // namespace adagp::method

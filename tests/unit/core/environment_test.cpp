#include <gtest/gtest.h>

#include "adagp/base/core/binding.h"

namespace adagp::core {
namespace {

class Environment : public ::testing::Test {
 protected:
  Environment() {
    binding_.bind("epochs", &epochs_, "");
    binding_.bind("optim.lr", &lr_, "");
  }

  int64_t epochs_ = 0;
  double lr_ = 0;
  Binding binding_;
};

TEST_F(Environment, MisspeltVariablesAreNamedWithTheNearestKey) {
  const auto warnings = binding_.misspelt({"ADAGP_EPOCS", "ADAGP_OPTIM.LR"});
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0],
            "environment: ADAGP_EPOCS is no key and changes nothing; did you mean ADAGP_EPOCHS?");
  EXPECT_NE(warnings[1].find("did you mean ADAGP_OPTIM_LR?"), std::string::npos) << warnings[1];
}

TEST_F(Environment, ANameNearNothingLeadsToTheList) {
  const auto warnings = binding_.misspelt({"ADAGP_SOMETHING_ELSE"});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("docs/configuration.md"), std::string::npos) << warnings[0];
}

TEST_F(Environment, KeysOtherProgramsAndTheBuildAreLeftAlone) {
  const auto warnings = binding_.misspelt({"ADAGP_EPOCHS", "ADAGP_OPTIM_LR", "EPOCS", "PATH",
                                           "ADAGP_BIN", "ADAGP_DEPS_DIR", "ADAGP_PYTHON"});
  EXPECT_TRUE(warnings.empty()) << warnings[0];
}

}  // namespace
}  // namespace adagp::core

// Which runs of a process need steps of their own before their clock starts.

#include "adagp/engine/train/warm_up.h"

#include <gtest/gtest.h>

#include "adagp/base/core/binding.h"
#include "unit/train/small.h"
#include "unit/with_rivals.h"

namespace adagp::train {
namespace {

std::string key_with(const std::string& assignment) {
  config::RunConfig config = small::config();
  core::Binding binding;
  config::bind(binding, config);
  if (!assignment.empty()) binding.set(assignment);
  return warm_up_key(config, "cuda:0", "16x16");
}

TEST(WarmUp, RunsWithOtherStepsOrShapesHaveOtherKeys) {
  const std::string usual = key_with("");
  for (const std::string& assignment : testing::with_rivals(
           {"small_batch.share=0.5", "freeze.at=[0.25]", "freeze.blocks=[2]", "low_res.sizes=[8]",
            "method=\"bp\"", "batch=20", "eval_batch=5", "model.width_divisor=4", "model.width=64",
            "precision=\"bf16\"", "accumulate=2", "own_kernels=false"},
           {"predictor.kind=\"dni\"", "selective.share=0.25", "partial.blocks=2", "modules.count=3",
            "modules.signal=\"auxiliary\"", "modules.shrink=0.5"})) {
    EXPECT_NE(key_with(assignment), usual) << assignment;
  }
}

TEST(WarmUp, RunsWithOtherNumbersHaveTheSameKey) {
  const std::string usual = key_with("");
  for (const char* assignment : {"seed=7", "optim.lr=0.5", "policy.gamma=0.3", "schedule=\"bp\"",
                                 "log_every=\"7ba\"", "augment.workers=3"}) {
    EXPECT_EQ(key_with(assignment), usual) << assignment;
  }
}

TEST(WarmUp, EveryDeviceAndEveryShapeOfImagesIsWarmedUp) {
  const config::RunConfig config = small::config();
  const std::string usual = warm_up_key(config, "cuda:0", "16x16");
  EXPECT_NE(warm_up_key(config, "cuda:1", "16x16"), usual);
  EXPECT_NE(warm_up_key(config, "cuda:0", "32x32"), usual);
}

}  // namespace
}  // namespace adagp::train

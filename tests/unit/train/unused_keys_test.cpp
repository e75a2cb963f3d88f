// Keys that change nothing are named, keys that do are not.

#include "adagp/engine/train/unused_keys.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "adagp/base/core/text.h"
#include "adagp/engine/method/table.h"

namespace adagp::train {
namespace {

config::RunConfig of_method(const std::string& method) {
  config::RunConfig config;
  config.method = method;
  return config;
}

TEST(UnusedKeys, OfTheMethod) {
  const std::vector<GivenKey> given{{"schedule", "--schedule"},
                                    {"predictor.kind", "--set predictor.kind"},
                                    {"epochs", "--epochs"}};
  EXPECT_EQ(unused_keys(given, {of_method("bp")}),
            "changes nothing here: --schedule, --set predictor.kind (method bp)");
  EXPECT_EQ(unused_keys(given, {of_method("adagp")}), "");
  // One method of a comparison that reads a key is enough.
  EXPECT_EQ(unused_keys(given, {of_method("bp"), of_method("adagp")}), "");
  EXPECT_EQ(unused_keys({{"predictor.kind", "ADAGP_PREDICTOR_KIND"}},
                        {of_method("bp"), of_method("skip")}),
            "changes nothing here: ADAGP_PREDICTOR_KIND (method bp, method skip)");
}

TEST(UnusedKeys, JoinedAndDecidingMethodsReadWhatTheirPartsRead) {
  const config::RunConfig joined = of_method("progressive+stored-loss");
  EXPECT_EQ(why_unused(joined, "low_res.sizes"), "");
  EXPECT_EQ(why_unused(joined, "stored_loss.power"), "");
  EXPECT_EQ(why_unused(joined, "infobatch.prune"), "method progressive+stored-loss");
  config::RunConfig deciding = of_method("auto");
  EXPECT_EQ(why_unused(deciding, "predictor.lr"), "");
  EXPECT_EQ(why_unused(deciding, "schedule"), "method auto");
  deciding.automatic.steps = {"skip"};
  EXPECT_EQ(why_unused(deciding, "predictor.lr"), "method auto");
}

TEST(UnusedKeys, OfTaskDataPolicyAndPredictor) {
  config::RunConfig config = of_method("adagp");
  EXPECT_EQ(why_unused(config, "translation.beam"), "task classification");
  EXPECT_EQ(why_unused(config, "model.width"), "task classification");
  EXPECT_EQ(why_unused(config, "model.width_divisor"), "");
  EXPECT_EQ(why_unused(config, "data.dir"), "data.name synthetic");
  EXPECT_EQ(why_unused(config, "predictor.remap_channels"), "predictor.kind shared");
  config.policy.name = "constant";
  EXPECT_EQ(why_unused(config, "policy.gamma"), "policy.name constant");
  EXPECT_EQ(why_unused(config, "policy.warmup"), "");
  EXPECT_EQ(why_unused(config, "optim.beta1"), "optim.name sgd");
}

TEST(UnusedKeys, OfAnEvaluation) {
  EXPECT_NE(why_unused_in_evaluation({}, "batch").find("eval_batch"), std::string::npos);
  EXPECT_EQ(why_unused_in_evaluation({}, "eval_batch"), "");
  EXPECT_EQ(why_unused_in_evaluation({}, "data.mean"), "");
}

// A misspelt name in the table would warn of a key that is read.
TEST(UnusedKeys, TheTableOfMethodsNamesKeysThatExist) {
  config::RunConfig config;
  core::Binding binding;
  bind(binding, config);
  const auto keys = binding.keys();
  for (const auto& entry : method::method_table()) {
    for (const std::string& name : core::split(entry.reads, ' ')) {
      if (name.empty()) continue;
      const bool there = std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
        return name.ends_with('.') ? key.starts_with(name) : key == name;
      });
      EXPECT_TRUE(there) << entry.name << ": " << name;
    }
  }
  // Every key that belongs to one kind of method is in the table.
  for (const auto& key : keys) {
    for (const char* group : {"low_res.", "select.", "stored_loss.", "infobatch.", "selective.",
                              "partial.", "freeze.", "modules.", "xgrad.", "dropback.",
                              "control_variate.", "auto.", "ema.", "small_batch.", "equal_time."}) {
      if (key.starts_with(group)) {
        EXPECT_EQ(why_unused(of_method("bp"), key), "method bp") << key;
      }
    }
  }
}

}  // namespace
}  // namespace adagp::train

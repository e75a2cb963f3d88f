// Keys that change nothing are named, keys that do are not.

#include "adagp/engine/train/unused_keys.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "adagp/engine/method/table.h"
#include "unit/with_rivals.h"

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

TEST(UnusedKeys, JoinedMethodsReadWhatTheirPartsRead) {
  const config::RunConfig joined = of_method("progressive+stored-loss");
  EXPECT_EQ(why_unused(joined, "low_res.sizes"), "");
  EXPECT_EQ(why_unused(joined, "stored_loss.power"), "");
  EXPECT_EQ(why_unused(joined, "infobatch.prune"), "method progressive+stored-loss");
}

TEST(UnusedKeys, OfTaskDataPolicyAndPredictor) {
  config::RunConfig config = of_method("adagp");
  EXPECT_EQ(why_unused(config, "translation.beam"), "task classification");
  EXPECT_EQ(why_unused(config, "model.width"), "task classification");
  EXPECT_EQ(why_unused(config, "model.width_divisor"), "");
  EXPECT_EQ(why_unused(config, "data.dir"), "data.name synthetic");
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

// bind() itself refuses a condition on a key that is not there. One on a method that is not there
// would warn of keys that are read.
TEST(UnusedKeys, ConditionsNameMethodsThatExist) {
  config::RunConfig config;
  core::Binding binding;
  bind(binding, config);
  std::vector<std::string> known{"scheduled", "predicts"};
  for (const auto& entry : method::method_table()) known.push_back(entry.name);
  int conditions = 0;
  for (const auto& field : binding.fields()) {
    for (const auto& [by, values] : field.conditions) {
      if (by != "method") continue;
      ++conditions;
      for (const std::string& value : values) {
        EXPECT_NE(std::find(known.begin(), known.end(), value), known.end()) << field.key;
      }
    }
  }
  EXPECT_GT(conditions, 20);
  // Every key that belongs to one kind of method says so.
  for (const auto& key : binding.keys()) {
    for (const std::string& group :
         testing::with_rivals({"low_res.", "select.", "stored_loss.", "infobatch.", "freeze.",
                               "ema.", "small_batch.", "equal_time.", "predictor."},
                              {"selective.", "partial.", "modules.", "xgrad.", "dropback.",
                               "control_variate.", "noise.", "auto."})) {
      if (key.starts_with(group)) {
        EXPECT_EQ(why_unused(of_method("bp"), key), "method bp") << key;
      }
    }
  }
}

}  // namespace
}  // namespace adagp::train

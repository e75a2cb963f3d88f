#include "adagp/base/schedule/policy.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"

namespace adagp::schedule {
namespace {

using nlohmann::json;

json policy_fixture() {
  std::ifstream in(ADAGP_SOURCE_DIR "/tests/golden/fixtures/policies.json");
  return json::parse(in);
}

PolicyConfig policy_config(const json& one) {
  PolicyConfig c;
  c.name = one["policy"];
  const json& o = one["options"];
  c.peak = o.value("peak", c.peak);
  c.every = o.value("every", c.every);
  c.gamma = o.value("gamma", c.gamma);
  c.milestones = o.value("milestones", c.milestones);
  c.floor = o.value("floor", c.floor);
  c.div = o.value("div", c.div);
  c.warmup = o.value("warmup", c.warmup);
  c.factor = o.value("factor", c.factor);
  c.patience = o.value("patience", c.patience);
  c.threshold = o.value("threshold", c.threshold);
  return c;
}

// PyTorch chains its rates from step to step and we compute each afresh: some 60 roundings apart.
constexpr double kRounding = 1e-12;

TEST(Policy, EveryPolicyGivesPyTorchsRates) {
  const json fixture = policy_fixture();
  std::map<std::string, int> seen;
  for (const json& one : fixture["cases"]) {
    const auto policy =
        make_policy(policy_config(one), one["base"], one["total"], one["per_epoch"]);
    const std::vector<double> expected = one["lr"];
    const bool epochs = one["policy"] == "plateau";
    for (size_t i = 0; i < expected.size(); ++i) {
      const double lr = policy->lr(static_cast<int64_t>(i));
      EXPECT_NEAR(lr, expected[i], kRounding * std::abs(expected[i]))
          << one["policy"] << one["options"] << " at " << i;
      if (epochs) policy->epoch_end(fixture["losses"][i]);
    }
    ++seen[one["policy"]];
  }
  for (const auto& name : schedule::policy_names())
    EXPECT_GT(seen[name], 0) << name << " has no fixture";
}

// Two cuts by a half: what others may multiply their own rates by.
TEST(Policy, PlateauTellsHowFarItFell) {
  const auto policy = make_policy({.name = "plateau", .factor = 0.5, .patience = 0}, 0.1, 9, 3);
  EXPECT_EQ(policy->fallen(), 1);
  for (const double loss : {1.0, 2.0, 0.5, 0.9}) policy->epoch_end(loss);  // the 2nd and the 4th
  EXPECT_EQ(policy->fallen(), 0.25);
  EXPECT_EQ(make_policy({.name = "constant"}, 0.1, 9, 3)->fallen(), 1);
  EXPECT_EQ(make_policy({.name = "plateau"}, 0, 9, 3)->fallen(), 1);
}

TEST(Policy, PlateauResumesFromItsState) {
  const json fixture = policy_fixture();
  const std::vector<double> losses = fixture["losses"];
  for (const json& one : fixture["cases"]) {
    if (one["policy"] != "plateau") continue;
    for (size_t cut = 0; cut < losses.size(); ++cut) {
      auto policy = make_policy(policy_config(one), one["base"], 60, 6);
      for (size_t i = 0; i < cut; ++i) policy->epoch_end(losses[i]);
      for (const double number : policy->state()) EXPECT_TRUE(std::isfinite(number));
      auto resumed = make_policy(policy_config(one), one["base"], 60, 6);
      resumed->load_state(policy->state());
      for (size_t i = cut; i < losses.size(); ++i) {
        EXPECT_NEAR(resumed->lr(0), one["lr"][i].get<double>(), 1e-12);
        resumed->epoch_end(losses[i]);
      }
    }
  }
  EXPECT_THROW(make_policy({.name = "plateau"}, 0.1, 9, 3)->load_state({1.0}), DataError);
  EXPECT_THROW(make_policy({.name = "cosine"}, 0.1, 9, 3)->load_state({1.0}), DataError);
}

TEST(Policy, RatesStayInRangeAtTheEdges) {
  for (const auto& name : schedule::policy_names()) {
    for (const int64_t total : {1, 2, 3, 10}) {
      for (const double peak : {0.0, 0.1, 1.0}) {
        const auto policy = make_policy(
            {.name = name, .peak = peak, .milestones = {"1ep"}, .warmup = "4ba"}, 0.1, total, 2);
        for (int64_t s = 0; s < total + 3; ++s) {  // a run may overshoot
          const double lr = policy->lr(s);
          EXPECT_TRUE(lr >= 0 && lr <= 0.1 * (1 + kRounding))
              << name << " " << lr << " at " << s << " of " << total << ", peak " << peak;
        }
      }
    }
  }
}

std::string policy_complaint(const PolicyConfig& config) {
  try {
    make_policy(config, 0.1, 10, 5);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "taken";
}

TEST(Policy, WrongOptionsAreUsageErrors) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(policy_complaint({.name = "cosin"}), "did you mean 'cosine'");
  has(policy_complaint({.name = "triangle", .peak = 1.5}), "peak = 1.5");
  has(policy_complaint({.name = "one-cycle", .div = 0}), "div = 0");
  has(policy_complaint({.name = "step", .every = "0ba"}), "every = '0ba'");
  has(policy_complaint({.name = "step", .every = "soon"}), "every: duration 'soon'");
  has(policy_complaint({.name = "step", .gamma = -1}), "gamma = -1");
  has(policy_complaint({.name = "multi-step"}), "milestones are missing");
  has(policy_complaint({.name = "multi-step", .milestones = {"3"}}), "milestones: duration '3'");
  has(policy_complaint({.name = "plateau", .factor = 1}), "factor = 1");
}

}  // namespace
}  // namespace adagp::schedule

// Does every key bind, document itself and complain well?

#include <cstdlib>

#include <gtest/gtest.h>

#include "adagp/base/config/run_config.h"
#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#ifdef ADAGP_WITH_RIVAL_KEYS
#include "adagp/rivals/options/options.h"
#endif

namespace adagp::config {
namespace {

#ifdef ADAGP_WITH_RIVAL_KEYS
constexpr bool kRivals = true;
const bool rivals_are_here = (rivals::add_keys(), true);
#else
constexpr bool kRivals = false;
#endif

struct Bound {
  Bound() { bind(binding, config); }
  RunConfig config;
  core::Binding binding;
};

std::string complaint(const std::string& toml) {
  Bound b;
  try {
    b.binding.load_toml(toml, "recipe.toml");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(RunConfig, RoundTripsThroughToml) {
  Bound a, b;
  a.config.schedule = "2ep bp, \"1:1";
  a.config.optim.lr = 1e-5;
  a.config.data.mean = {0.1, 0.25, 1.0 / 3.0};
  a.config.policy.milestones = {"1ep", "500ba"};
  a.config.seed = 123456789012345;
  a.config.deterministic = true;
  b.binding.load_toml(a.binding.to_toml(), "again");
  EXPECT_TRUE(a.binding.differences(b.binding).empty());
  EXPECT_EQ(b.config.data.mean[2], 1.0 / 3.0);
}

TEST(RunConfig, FilesOfEarlierVersionsLoadWhereTheyMeanTheSame) {
  EXPECT_EQ(complaint("[policy]\ncooldown = 0\nmin_lr = 0.0\nfinal_div = "
                      "10000.0\n[predictor]\nrms_decay = 0.95"),
            "");
  EXPECT_EQ(
      complaint("[policy]\ncooldown = 2"),
      "recipe.toml:2:1: policy.cooldown = 2: this version knows no such key and does as with 0");
}

TEST(RunConfig, WordsOfOtherProgramsLeadToTheirKeys) {
  const std::pair<const char*, const char*> cases[] = {
      {"batchsize = 1", "'batch'"},
      {"batch-size = 1", "'batch'"},
      {"learning_rate = 1", "'optim.lr'"},
      {"optim.learning_rate = 1", "'optim.lr'"},
      {"weight_decay = 1", "'optim.decay'"},
      {"train.num_epochs = 1", "'epochs'"},
      {"momentum = 1", "'optim.momentum'"},
      {"lr = 1", "'optim.lr' or 'predictor.lr'"},
      // A group that there is, or nearly is, is meant.
      {"predictor.learning_rate = 1", "'predictor.lr'"},
      {"ema.weight_decay = 1", "'ema.decay'"},
      {"predictr.lr = 1", "'predictor.lr'"},
      {"Optim.LR = 1", "'optim.lr'"},
      {"optim.epochs = 1", "'epochs'"},
      {"data.batch = 1", "'batch'"},
      {"train.seed = 1", "'seed'"}};
  for (const auto& [text, key] : cases) {
    EXPECT_NE(complaint(text).find(std::string("did you mean ") + key + "?"), std::string::npos)
        << complaint(text);
  }
}

TEST(RunConfig, ComplaintsNamePlaceAndCure) {
  EXPECT_EQ(
      complaint("epochs = 3\n[optim]\nlearning_rat = 1"),
      "recipe.toml:3:1: unknown key 'optim.learning_rat'; docs/configuration.md lists the keys");
  EXPECT_NE(complaint("[optim]\nmomentun = 1")
                .find("recipe.toml:2:1: unknown key 'optim.momentun'; did "
                      "you mean 'optim.momentum'?"),
            std::string::npos)
      << complaint("[optim]\nmomentun = 1");
  EXPECT_NE(complaint("epochs = \"three\"").find("expected a whole number"), std::string::npos);
  EXPECT_NE(complaint("epochs = 0").find("expected 1 to 1000000000"), std::string::npos);
  EXPECT_NE(complaint("precision = \"fp16\"").find("fp32"), std::string::npos);
  EXPECT_NE(complaint("cpu.convolution = \"measured\"").find("channels-last, contiguous"),
            std::string::npos)
      << complaint("cpu.convolution = \"measured\"");
  EXPECT_NE(complaint("epochs = = 3").find("recipe.toml:1:"), std::string::npos);
}

TEST(RunConfig, NonAsciiIsTakenInStringsAndRefusedOutside) {
  EXPECT_NE(complaint("# caf\u00e9\nepochs = 3\nmod\u00e9l = 1").find("recipe.toml:3:4: not TOML"),
            std::string::npos);
  EXPECT_NE(complaint("weights = \u00e9").find("recipe.toml:1:11: not TOML"), std::string::npos);
  EXPECT_EQ(complaint("weights = \"\u00e9\"  # \u00fc\nschedule = \"\"\"\n\u00e9\"\"\""), "");
  EXPECT_EQ(complaint("weights = \"a\\\"\u00e9\""), "");
  EXPECT_NE(complaint("epochs = 0x'\u00bf'").find("recipe.toml:1:12: not TOML"), std::string::npos);
  EXPECT_EQ(complaint("weights = \"\"\"a\u00e9\"\"\"\"\" # \u00e9"), "");
  EXPECT_NE(complaint("[optim]\nlr = nan").find("expected a number"), std::string::npos);
}

// The list of keys is what users see: none may be forgotten.
TEST(RunConfig, NoKeyTakesWhatIsNoFiniteNumber) {
  RunConfig config;
  core::Binding binding;
  bind(binding, config);
  size_t numbers = 0;
  for (const auto& field : binding.fields()) {
    if (core::Binding::type_name(field).find("number") == std::string::npos) continue;
    ++numbers;
    for (const char* bad : {"nan", "inf", "-inf", "1e400", "99999999999999999999"}) {
      // A real number may be that large where it has no limit.
      if (bad == std::string("99999999999999999999") && field.high > 1e20 &&
          core::Binding::type_name(field).find("whole") == std::string::npos) {
        continue;
      }
      for (const std::string& value : {std::string(bad), "[" + std::string(bad) + "]"}) {
        try {
          binding.set(field.key, value, "--set " + field.key);
          ADD_FAILURE() << field.key << " = " << value;
        } catch (const UsageError& error) {
          const std::string text = error.what();
          EXPECT_NE(text.find(field.key), std::string::npos) << text;
          EXPECT_EQ(text.find('\n'), std::string::npos) << text;
        }
      }
    }
  }
  EXPECT_GT(numbers, 80U);
}

TEST(RunConfig, TooManyThreadsAreRefused) {
  RunConfig config;
  for (int64_t* count : {&config.threads, &config.augment.workers}) {
    validate(config);
    *count = 1'000'000;
    EXPECT_THROW(validate(config), UsageError);
    *count = 0;
  }
}

TEST(RunConfig, SetTakesTomlOrBareText) {
  Bound b;
  b.binding.set("schedule=1ep bp, 2:1");
  b.binding.set("optim.lr = 0.25");
  b.binding.set("data.std=0.5");
  b.binding.set("policy.milestones=[\"1ep\", \"2ep\"]");
  b.binding.set("weights=2024");
  EXPECT_EQ(b.config.schedule, "1ep bp, 2:1");
  EXPECT_EQ(b.config.optim.lr, 0.25);
  EXPECT_EQ(b.config.data.std, std::vector<double>{0.5});
  EXPECT_EQ(b.config.policy.milestones.size(), 2U);
  EXPECT_EQ(b.config.weights, "2024");
  EXPECT_THROW(b.binding.set("optim.lr"), UsageError);
  EXPECT_THROW(b.binding.set("optim.lr=fast"), UsageError);
}

TEST(RunConfig, EnvironmentNamesFollowTheKeys) {
  Bound b;
  setenv("ADAGP_OPTIM_LR", "0.125", 1);
  b.binding.load_environment();
  unsetenv("ADAGP_OPTIM_LR");
  EXPECT_EQ(b.config.optim.lr, 0.125);
}

TEST(RunConfig, EveryKeyIsDocumentedWithItsDefault) {
  const Bound b;
  const std::string page =
      core::read_file(core::fs::path(ADAGP_SOURCE_DIR) / "docs" / "configuration.md");
  size_t rows = 0;
  for (size_t at = page.find("\n| `"); at != std::string::npos; at = page.find("\n| `", at + 1))
    ++rows;
  // The page has the rivals' keys, too.
  if (!kRivals) GTEST_SKIP() << "built without the rivals";
  EXPECT_EQ(rows, b.binding.fields().size()) << "docs/configuration.md has keys that do not exist";
  for (const auto& field : b.binding.fields()) {
    const std::string row = "| `" + field.key + "` | `" + core::Binding::value_text(field) +
                            "` | " + field.about + " |";
    EXPECT_NE(page.find(row), std::string::npos) << "docs/configuration.md lacks: " << row;
  }
}

TEST(RunConfig, EveryRecipeLoads) {
  int count = 0;
  for (const auto& entry : core::fs::recursive_directory_iterator(core::fs::path(ADAGP_SOURCE_DIR) /
                                                                  "configs" / "recipes")) {
    if (entry.path().extension() != ".toml") continue;
    const bool rival = core::read_file(entry.path()).find("remap") != std::string::npos;
    if (rival && !kRivals) continue;
    Bound b;
    EXPECT_NO_THROW(b.binding.load_toml(core::read_file(entry.path()), entry.path().string()));
    EXPECT_NO_THROW(validate(b.config));
    ++count;
  }
  EXPECT_GE(count, 6);
}

}  // namespace
}  // namespace adagp::config

// Does a run keep its promises about folders, budgets, divergence and comparison?

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/method/equal_time.h"
#include "adagp/engine/run/weights.h"
#include "adagp/engine/train/trainer.h"
#include "adagp/lab/experiment/compare.h"
#include "unit/records.h"
#include "unit/temp_folder.h"
#include "unit/train/small.h"

namespace adagp::train {
namespace {

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Run, WritesEveryFileOfTheFolder) {
  const testing::TempFolder folder;
  const report::Summary s = train(small::config(), small::task(), folder / "run");
  for (const char* name :
       {"config.toml", "metrics.jsonl", "tb", "checkpoint", "weights.safetensors",
        "best.safetensors", "layers.csv", "environment.json", "summary.json"}) {
    EXPECT_TRUE(core::fs::exists(folder / "run" / name)) << name;
  }
  EXPECT_EQ(s.bp_batches, 6 + 2 * 2);  // 1 epoch of 6, then GP GP BP GP GP BP
  EXPECT_EQ(s.gp_batches, 8);
  EXPECT_TRUE(s.cosine.has_value());
  int checkpoints = 0;
  for ([[maybe_unused]] const auto& entry :
       core::fs::directory_iterator(folder / "run" / "checkpoint")) {
    ++checkpoints;
  }
  EXPECT_EQ(checkpoints, 2);
  const auto records = testing::records_of(folder / "run" / "metrics.jsonl");
  EXPECT_EQ(std::count_if(records.begin(), records.end(),
                          [](const auto& record) { return record.at("kind") == "epoch"; }),
            3);
  EXPECT_EQ(report::Summary::read(folder / "run" / "summary.json").to_json(), s.to_json());
}

// The rates of a run are those that the policy gives when it is told this loss of each epoch.
TEST(Run, ThePlateauWatchesTheNamedLoss) {
  bool differed = false;
  for (const double threshold : {0.003, 0.006, 0.01, 0.02, 0.1}) {
    const testing::TempFolder folder;
    std::map<std::string, std::vector<double>> rates;
    for (const std::string watch : {"test", "train", "held-out"}) {
      config::RunConfig c = small::config("bp");
      c.epochs = 6;
      c.policy.name = "plateau";
      c.policy.watch = watch;
      c.policy.patience = 0;
      c.policy.threshold = threshold;
      train(c, small::task(), folder / watch);
      const auto policy = schedule::make_policy(c.policy, c.optim.lr, 36, 6);
      for (const auto& record : testing::records_of(folder / watch / "metrics.jsonl")) {
        if (record.at("kind") == "train") {
          rates[watch].push_back(record.at("lr"));
          EXPECT_EQ(rates[watch].back(), policy->lr(0)) << watch << " " << rates[watch].size();
        }
        if (record.at("kind") == "epoch") {
          policy->epoch_end(record.at(watch == "test"    ? "test_loss"
                                      : watch == "train" ? "train_loss"
                                                         : "held_out_loss"));
        }
      }
    }
    differed = differed || rates["test"] != rates["train"];
  }
  // How the losses fall is another on every CPU. At one threshold at least the two must differ,
  // else this test would not tell one from the other.
  EXPECT_TRUE(differed);
}

TEST(Run, AFinishedFolderIsNotTrainedAgain) {
  const testing::TempFolder folder;
  const config::RunConfig c = small::config();
  const report::Summary first = train(c, small::task(), folder / "run");
  const auto written = core::fs::last_write_time(folder / "run" / "weights.safetensors");
  EXPECT_EQ(train(c, small::task(), folder / "run").to_json(), first.to_json());
  EXPECT_EQ(core::fs::last_write_time(folder / "run" / "weights.safetensors"), written);

  config::RunConfig other = c;
  other.optim.lr = 0.5;
  EXPECT_NE(message_of([&] { train(other, small::task(), folder / "run"); }).find("optim.lr"),
            std::string::npos);
  EXPECT_EQ(train(other, small::task(), folder / "run", true).method, "adagp");
  config::RunConfig cosmetic = other;
  cosmetic.log_every = "2ba";
  EXPECT_NO_THROW(train(cosmetic, small::task(), folder / "run"));
}

TEST(Run, DivergenceNamesPlaceAndLayer) {
  const testing::TempFolder folder;
  config::RunConfig c = small::config("bp");
  c.optim.lr = 1e20;
  c.policy.name = "constant";
  EXPECT_THROW(train(c, small::task(), folder / "run"), DivergedError);
  const std::string message = message_of([&] { train(c, small::task(), folder / "run"); });
  for (const char* part : {"epoch 1 batch ", "layer '", "optim.lr"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST(EqualTime, BuysBatchesAndDecaysOverThem) {
  EXPECT_EQ(method::budget_batches(10.0, 0.5, 100), 20);
  EXPECT_EQ(method::budget_batches(10.0, 0.01, 100), 100);
  EXPECT_EQ(method::budget_batches(0.0, 0.5, 100), 1);

  const testing::TempFolder folder;
  config::RunConfig c = small::config("equal-time");
  EXPECT_THROW(train(c, small::task(), folder / "none"), UsageError);
  c.equal_time_batches = 8;
  const report::Summary s = train(c, small::task(), folder / "run");
  EXPECT_EQ(s.bp_batches, 8);
  EXPECT_EQ(s.gp_batches, 0);
  // The rate of the last batch belongs to a triangle over 8 batches, not over 18.
  const auto records = testing::records_of(folder / "run" / "metrics.jsonl");
  double last = -1;
  for (const auto& record : records) {
    if (record.at("kind") == "train") last = record.at("lr").get<double>();
  }
  EXPECT_NEAR(last, c.optim.lr / 7.0, 1e-12);  // up = round(0.15 * 8) = 1: (8 - 7) / (8 - 1)
}

TEST(EqualTime, TakesItsBudgetFromAReference) {
  const testing::TempFolder folder;
  train(small::config("adagp"), small::task(), folder / "adagp");
  config::RunConfig c = small::config("equal-time");
  c.equal_time_reference = (folder / "adagp").string();
  const report::Summary s = train(c, small::task(), folder / "run");
  EXPECT_GE(s.bp_batches, 1);
  EXPECT_LE(s.bp_batches, 18);
  EXPECT_EQ(run::read_config(folder / "run").equal_time_batches, s.bp_batches);
}

// A network that the registry does not know, here one that it does: its runs must be the same.
TEST(OwnNetwork, TakesABudgetFromAReferenceAndIsLeftAsItCame) {
  const testing::TempFolder folder;
  const auto own = [&](const config::RunConfig& c, const std::string& name) {
    at::set_num_threads(1);
    const report::Summary s =
        train(c, small::task(), task::build_net(c, *small::task()), folder / name);
    EXPECT_EQ(s.gp_batches, 0);
    return core::read_file(folder / name / "weights.safetensors");
  };
  train(small::config("adagp"), small::task(), folder / "adagp");
  config::RunConfig c = small::config("equal-time");
  EXPECT_NE(message_of([&] { own(c, "none"); }).find("equal_time.reference"), std::string::npos);
  c.equal_time_reference = (folder / "adagp").string();
  const std::string measured = own(c, "measured");
  // The steps that were measured have left no trace in the weights.
  config::RunConfig told = small::config("equal-time");
  told.equal_time_batches = run::read_config(folder / "measured").equal_time_batches;
  EXPECT_GE(told.equal_time_batches, 1);
  EXPECT_EQ(own(told, "told"), measured);
  train(told, small::task(), folder / "named");
  EXPECT_EQ(core::read_file(folder / "named" / "weights.safetensors"), measured);
}

TEST(Compare, RunsMethodsTimesSeedsAndResumes) {
  const testing::TempFolder folder;
  experiment::CompareOptions options;
  options.methods = {"bp", "equal-time", "adagp", "skip"};
  options.seeds = 2;
  options.folder = folder / "cmp";
  config::RunConfig c = small::config();
  c.epochs = 2;
  const auto first = experiment::compare_methods(c, options).table;
  ASSERT_EQ(first.methods.size(), 4U);
  for (const auto& row : first.methods) EXPECT_EQ(row.n, 2) << row.method;
  EXPECT_TRUE(core::fs::exists(folder / "cmp" / "compare.json"));
  const auto again = experiment::compare_methods(c, options).table;
  EXPECT_EQ(report::to_json(first), report::to_json(again));

  options.methods = {"equal-time", "bp"};
  EXPECT_THROW(experiment::compare_methods(c, options), UsageError);
  options.methods = {"bp", "bp"};
  EXPECT_THROW(experiment::compare_methods(c, options), UsageError);
}

TEST(Compare, ARunThatDivergesIsNamedAndTheOthersStay) {
  const testing::TempFolder folder;
  experiment::CompareOptions options;
  options.methods = {"skip", "adagp"};
  options.seeds = 1;
  options.folder = folder / "cmp";
  config::RunConfig c = small::config();
  c.schedule = "gp";    // skip trains nothing and cannot diverge,
  c.loss_limit = 1e-6;  // adagp looks at its first loss and does
  const auto result = experiment::compare_methods(c, options);
  ASSERT_EQ(result.table.methods.size(), 1U);
  EXPECT_EQ(result.table.methods[0].method, "skip");
  ASSERT_EQ(result.diverged.size(), 1U);
  EXPECT_NE(result.diverged[0].find("adagp-seed0"), std::string::npos);
}

TEST(Weights, AnotherShapeIsListed) {
  config::RunConfig c = small::config();
  auto net = task::build_net(c, *small::task());
  io::TensorMap weights = run::state_dict(*net);
  c.model.classes = 7;
  auto other = task::build_net(c, *small::task());
  const std::string message =
      message_of([&] { run::load_state_dict(*other, weights, "file.safetensors"); });
  EXPECT_NE(message.find("file.safetensors"), std::string::npos);
  EXPECT_NE(message.find("of another shape"), std::string::npos);
  weights.erase(weights.begin());
  weights["surplus"] = at::zeros({1});
  const std::string second = message_of([&] { run::load_state_dict(*net, weights, "file"); });
  EXPECT_NE(second.find("1 missing"), std::string::npos) << second;
  EXPECT_NE(second.find("1 unexpected: surplus"), std::string::npos) << second;
}

TEST(Weights, AnotherNumberOfClassesLeavesTheHeadAsItIs) {
  config::RunConfig c = small::config();
  const io::TensorMap weights = small::copy_of(*task::build_net(c, *small::task()));
  c.model.classes = 7;
  c.seed = 5;
  auto net = task::build_net(c, *small::task());
  const io::TensorMap before = small::copy_of(*net);
  const auto kept = run::load_all_but_other_heads(*net, weights, "file.safetensors");
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_NE(kept[0].find("fc.weight (got [10, "), std::string::npos) << kept[0];
  EXPECT_EQ(kept[1], "fc.bias (got [10], expected [7])");
  for (const auto& [name, tensor] : run::state_dict(*net)) {
    const bool head = name.starts_with("fc.");
    EXPECT_TRUE(at::equal(tensor, head ? before.at(name) : weights.at(name))) << name;
  }
  // A head that reads another number of features is another network.
  io::TensorMap narrow = weights;
  narrow["fc.weight"] = at::zeros({10, 3});
  EXPECT_NE(
      message_of([&] { run::load_all_but_other_heads(*net, narrow, "file"); }).find("fc.weight"),
      std::string::npos);
  // With as many classes everything is loaded.
  auto same = task::build_net(small::config(), *small::task());
  EXPECT_TRUE(run::load_all_but_other_heads(*same, weights, "file").empty());
}

// Refused by arithmetic on shapes: any of these would take all memory or hours when built.
TEST(Weights, SizesThatAFileClaimsAreCheckedBeforeTheyAreAllocated) {
  config::RunConfig c = small::config();
  const io::TensorMap weights = run::state_dict(*task::build_net(c, *small::task()));
  models::Options options = small::task()->model_options(c);
  EXPECT_NO_THROW(run::check_fits(c.model.name, options, weights, "w"));
  for (const int64_t classes : {int64_t{7}, int64_t{1} << 40, INT64_MAX}) {
    options.classes = classes;
    EXPECT_THROW(run::check_fits(c.model.name, options, weights, "w"), DataError) << classes;
  }
  options.classes = 10;
  options.transformer.encoder_layers = int64_t{1} << 30;
  EXPECT_THROW(run::check_fits("transformer", options, weights, "w"), DataError);
  models::TransformerOptions sizes;
  EXPECT_THROW(run::read_metadata({{"transformer.longest", "1000000000000"}}, sizes), DataError);
  EXPECT_NO_THROW(run::read_metadata({{"transformer.longest", "5000"}}, sizes));
}

}  // namespace
}  // namespace adagp::train

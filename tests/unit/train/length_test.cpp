// What depends on the length of a run: batches foreseen, and which runs may become longer.

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/train/trainer.h"
#include "unit/temp_folder.h"
#include "unit/train/small.h"
#include "unit/with_rivals.h"

namespace adagp::train {
namespace {

Trainer trainer(const config::RunConfig& c) {
  return {c, small::task(), task::build_net(c, *small::task())};
}

// Counted batch by batch.
TEST(Length, BatchesAreForeseenAsTheyWouldBeCounted) {
  for (const std::string& method :
       testing::with_rivals({"bp", "adagp", "skip", "freeze", "progressive"}, {"partial"})) {
    for (const int64_t epochs : {1, 2, 3, 7, 20}) {
      config::RunConfig c = small::config(method);
      c.epochs = epochs;
      c.schedule = "2ep bp, 3ep 2:1, 4ep gp, 1:2";
      c.low_res.scale_batch = false;  // so that epochs have the usual batches
      Trainer t = trainer(c);
      const EpochPlanner::Counts found = t.forecast().counts();
      int64_t bp = 0, gp = 0;
      double macs = 0;
      for (int64_t epoch = 0; epoch < epochs; ++epoch) {
        for (int64_t batch = 0; batch < t.batches_per_epoch(); ++batch) {
          const plan::BatchContext moment{epoch, epochs, t.schedule().at(epoch, batch)};
          ++(moment.phase == schedule::Phase::kPredict ? gp : bp);
          macs += t.method().cost(t.session(), t.costs(), moment, c.batch);
        }
      }
      EXPECT_EQ(found.bp, bp) << method << " " << epochs;
      EXPECT_EQ(found.gp, gp) << method << " " << epochs;
      // Sums of some hundred equal numbers, added in another order.
      EXPECT_NEAR(found.macs, macs, 1e-12 * macs) << method << " " << epochs;
    }
  }
}

// The predictor's milestones are durations of the run, though it learns in BP batches alone.
TEST(Length, ThePredictorsMilestonesCountAllBatchesOfTheRun) {
  const auto weights = [](int64_t epochs) {
    config::RunConfig c = small::config("adagp");
    c.epochs = epochs;
    c.schedule = "2:1";  // 2 of an epoch's 6 batches are BP
    c.policy.name =
        "constant";  // else the network's rate, and what the predictor sees, follow the length
    c.predictor.milestones = {"1ep"};
    c.predictor.gamma = 1e-30;  // from then on it stands still
    Trainer t = trainer(c);
    t.run(nullptr);
    std::map<std::string, at::Tensor> found = t.session().predictor->state();
    std::erase_if(found, [](const auto& item) { return !item.first.starts_with("param."); });
    return found;
  };
  const auto after_one = weights(1), after_three = weights(3);
  ASSERT_FALSE(after_one.empty());
  for (const auto& [name, tensor] : after_one) {
    EXPECT_TRUE(at::equal(tensor, after_three.at(name))) << name;
  }
}

TEST(Length, ABillionEpochsAreCountedAtOnceAndMoreAreRefused) {
  const int64_t most = 1'000'000'000;
  for (const std::string method : {"bp", "adagp", "progressive", "freeze", "stored-loss"}) {
    config::RunConfig c = small::config(method);
    c.epochs = most;
    validate(c);
    const EpochPlanner::Counts found = trainer(c).forecast().counts();
    if (method == "bp") {
      EXPECT_EQ(found.bp, 6 * most);
    }
    if (method == "adagp") {
      EXPECT_EQ(found.gp, 4 * (most - 1));  // "1ep bp, 2:1": 4 of 6
      EXPECT_EQ(found.bp, 6 + 2 * (most - 1));
    }
    EXPECT_GT(found.macs, 0) << method;
  }
  config::RunConfig c = small::config("bp");
  for (const int64_t epochs : {most + 1, int64_t{4611686018427387904}, int64_t{0}, int64_t{-1}}) {
    c.epochs = epochs;
    EXPECT_THROW(validate(c), UsageError) << epochs;
  }
}

TEST(Length, AScheduleWithoutGpBatchesIsTold) {
  config::RunConfig c = small::config("adagp");
  c.schedule = "auto";
  c.epochs = 1;
  EXPECT_NE(trainer(c).forecast().no_gp_batches().find("no GP batch"), std::string::npos);
  c.epochs = 2;
  EXPECT_EQ(trainer(c).forecast().no_gp_batches(), "");
  c.schedule = "2ep bp, 4:1";
  EXPECT_NE(trainer(c).forecast().no_gp_batches().find("'2ep bp, 4:1'"), std::string::npos);
  c.schedule = "bp";  // asked for
  EXPECT_EQ(trainer(c).forecast().no_gp_batches(), "");
  c.schedule = "auto";
  c.epochs = 1;
  c.method = "bp";
  EXPECT_EQ(trainer(c).forecast().no_gp_batches(), "");
}

config::RunConfig extendable(const std::string& method, int64_t epochs) {
  config::RunConfig c = small::config(method);
  c.epochs = epochs;
  c.policy.name = "step";
  c.policy.every = "1ep";
  c.policy.warmup = "3ba";
  return c;
}

// Every byte of the weights, and the summary but for its seconds.
void expect_same(const core::fs::path& a, const core::fs::path& b) {
  for (const char* name : {"weights.safetensors", "best.safetensors"}) {
    EXPECT_EQ(core::read_file(a / name), core::read_file(b / name)) << name;
  }
  auto first = report::Summary::read(a / "summary.json"),
       second = report::Summary::read(b / "summary.json");
  first.train_seconds = second.train_seconds = first.eval_seconds = second.eval_seconds = 0;
  EXPECT_EQ(first.to_json(), second.to_json());
}

TEST(Length, AnExtendedRunIsOneOfThatLength) {
  const testing::TempFolder folder;
  std::vector<std::pair<config::RunConfig, config::RunConfig>> runs{
      {extendable("adagp", 2), extendable("adagp", 4)},
      {extendable("bp", 1), extendable("bp", 3)},
      {extendable("low-res", 2), extendable("low-res", 3)},
  };
  runs.push_back(runs.front());
  for (config::RunConfig* c : {&runs.back().first, &runs.back().second}) {
    c->optim.name = "adam";
    c->optim.lr = 1e-3;
    c->policy.name = "plateau";
    c->policy.patience = 0;
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto& [shorter, longer] = runs[i];
    SCOPED_TRACE(longer.method + " " + longer.policy.name);
    const auto extended = folder / ("extended" + std::to_string(i));
    const auto whole = folder / ("whole" + std::to_string(i));
    train(shorter, small::task(), extended);
    const report::Summary s = train(longer, small::task(), extended);
    EXPECT_EQ(s.epochs, longer.epochs);
    EXPECT_EQ(run::read_config(extended).epochs, longer.epochs);
    train(longer, small::task(), whole);
    expect_same(extended, whole);
    // Finished as the longer run.
    EXPECT_EQ(train(longer, small::task(), extended).to_json(), s.to_json());
  }
}

TEST(Length, WhatFollowsTheLengthIsNotExtended) {
  const testing::TempFolder folder;
  int count = 0;
  const auto refused = [&](config::RunConfig shorter, int64_t epochs, const std::string& part) {
    const auto path = folder / std::to_string(count++);
    train(shorter, small::task(), path);
    const std::string before = core::read_file(path / "summary.json");
    shorter.epochs = epochs;
    try {
      train(shorter, small::task(), path);
      ADD_FAILURE() << "extended: " << part;
    } catch (const UsageError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("(epochs)"), std::string::npos) << text;
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
    EXPECT_EQ(core::read_file(path / "summary.json"), before);
  };
  config::RunConfig c = extendable("bp", 2);
  for (const char* policy : {"triangle", "cosine", "one-cycle"}) {
    c.policy.name = policy;
    refused(c, 3, std::string("learning-rate policy ") + policy);
  }
  c = extendable("adagp", 2);
  c.schedule = "auto";  // one epoch of warm-up in a run of 2, two in one of 18
  refused(c, 18, "schedule 'auto'");
  refused(extendable("freeze", 2), 3, "method freeze");
  refused(extendable("stored-loss", 2), 3, "method stored-loss");
  c = extendable("equal-time", 2);
  c.equal_time_batches = 5;
  refused(c, 3, "equal-time");
  refused(extendable("bp", 3), 2, "another configuration");

  train(extendable("bp", 1), small::task(), folder / "gone");
  core::fs::remove_all(folder / "gone" / "checkpoint");
  EXPECT_THROW(train(extendable("bp", 2), small::task(), folder / "gone"), UsageError);
  EXPECT_TRUE(core::fs::exists(folder / "gone" / "summary.json"));
}

}  // namespace
}  // namespace adagp::train

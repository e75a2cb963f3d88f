// The frame around the steps: what is in an epoch, what it costs, what a checkpoint keeps of it.

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/layers/stages.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/engine/train/epoch_planner.h"
#include "adagp/engine/train/trainer.h"
#include "adagp/lab/experiment/budget.h"
#include "unit/temp_folder.h"
#include "unit/train/small.h"

namespace adagp::train {
namespace {

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing refused";
}

TEST(Frame, AMethodIsOneKindOfStepAndOneRule) {
  EXPECT_EQ(method::find_method("progressive+stored-loss").name, "progressive+stored-loss");
  EXPECT_TRUE(method::find_method("stored-loss+progressive").select);
  EXPECT_NE(refusal([] { method::find_method("skip+zero"); }).find("two kinds of steps"),
            std::string::npos);
  EXPECT_NE(refusal([] { method::find_method("infobatch+stored-loss"); }).find("two rules"),
            std::string::npos);
  EXPECT_NE(refusal([] { method::find_method("stored-los"); }).find("'stored-loss'"),
            std::string::npos);
}

TEST(Frame, RefusesWhatANetworkOrATaskCannot) {
  const auto trains = [](const std::string& method,
                         const std::function<void(config::RunConfig&)>& change) {
    config::RunConfig c = small::config(method);
    change(c);
    const testing::TempFolder folder;
    return refusal([&] { train(c, small::task(), folder / "run"); });
  };
  EXPECT_NE(trains("progressive",
                   [](config::RunConfig& c) {
                     c.low_res.sizes = {8, 12, 20};
                   })
                .find("20, expected 1 to 16"),
            std::string::npos);
  EXPECT_NE(trains("progressive",
                   [](config::RunConfig& c) {
                     c.low_res.shares = {0.5, 0.4, 0.4};
                   })
                .find("add up to 1.3"),
            std::string::npos);
  EXPECT_NE(trains("freeze",
                   [](config::RunConfig& c) {
                     c.freeze.blocks = {1, 99};
                   })
                .find("expected 0 to"),
            std::string::npos);
}

TEST(EpochPlanner, ARuleShortensEpochsAndKeepsTheOrder) {
  config::RunConfig c = small::config("stored-loss");
  c.epochs = 8;
  step::Session s = small::session(c);
  const auto method = method::find_method("bp").make(s);
  EpochPlanner planner(s, *method, schedule::Schedule::parse("bp", 8), {plan::stored_loss_rule});
  planner.set_usual_batches(6);
  EXPECT_EQ(planner.batches(0), 6);
  s.stored_losses.copy_(at::arange(60));
  const auto plan = planner.planner()(1);
  EXPECT_LT(plan->order.size(), 60U);
  EXPECT_EQ(static_cast<int64_t>(plan->batches.size()),
            static_cast<int64_t>(plan->order.size()) / 10);
  // Kept examples stand in plain backprop's order.
  const auto whole = core::permutation(60, core::mix({0, 1}));
  auto next = whole.begin();
  for (const int64_t example : plan->order) {
    next = std::find(next, whole.end(), example);
    ASSERT_NE(next, whole.end());
  }
  // The last epoch is whole again, and the run is done when it is.
  EXPECT_EQ(planner.batches(7), 6);
  EXPECT_EQ(planner.progress(8, 0), 1);
  EXPECT_NEAR(planner.progress(7, 0), 4 / 5.0, 0.04);
  // One whole epoch, six of about half, one whole: an eighth of the epochs is a fifth of the run.
  EXPECT_NEAR(planner.progress(1, 0), 1 / 5.0, 0.04);
}

TEST(EpochPlanner, AnotherDataSetsLossesAreRefused) {
  const config::RunConfig c = small::config("stored-loss");
  step::Session s = small::session(c);
  const auto method = method::find_method("bp").make(s);
  EpochPlanner planner(s, *method, schedule::Schedule::parse("bp", 3), {plan::stored_loss_rule});
  planner.batches(0);
  auto state = planner.state();
  planner.load_state(state);
  state["losses"] = at::zeros({59});
  try {
    planner.load_state(state);
    ADD_FAILURE() << "59 losses were taken for 60 examples";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("59 stored losses"), std::string::npos);
  }
}

TEST(Costs, AreCountedFromTheLayerTable) {
  const config::RunConfig c = small::config("bp");
  step::Session s = small::session(c);
  const method::Costs costs(*s.net, *s.task, c, {8});
  const auto table = layers::from_model(*s.net, c.model.name, "16x16");
  const auto total = static_cast<double>(layers::total_macs(table));
  const auto first = static_cast<double>(table.rows.front().macs);
  EXPECT_EQ(costs.forward(), total);
  // Two products for every one of the forward pass, but for the images' gradient.
  EXPECT_EQ(costs.backprop(), 3 * total - first);
  const auto blocks =
      static_cast<int64_t>(dynamic_cast<const models::BlockNet&>(*s.net).blocks().size());
  // Of the last block only its weights' gradient.
  const auto head = static_cast<double>(table.rows.back().macs);
  EXPECT_EQ(costs.backward(0, blocks - 1), head);
  EXPECT_EQ(costs.backprop(0, blocks - 1), total + head);
  // A quarter of the pixels: convolutions cost a quarter, the classifier the same.
  EXPECT_DOUBLE_EQ(costs.forward(8), (total - head) / 4 + head);
}

// A reversible block runs forward once more when it goes backward: exactly its own multiplications.
TEST(Costs, CountWhatReversibleBlocksComputeAgain) {
  config::RunConfig c = small::config("bp");
  c.model.name = "revnet18s";
  step::Session s = small::session(c);
  const method::Costs costs(*s.net, *s.task, c);
  const auto table = layers::from_model(*s.net, c.model.name, "16x16");
  double again = 0;
  for (const auto& row : table.rows) {
    const bool reversible =
        row.name.find(".f1.") != std::string::npos || row.name.find(".f2.") != std::string::npos;
    if (reversible) again += static_cast<double>(row.macs);
  }
  const auto total = static_cast<double>(layers::total_macs(table));
  EXPECT_GT(again, 0.3 * total);
  EXPECT_EQ(costs.backprop(), 3 * total - static_cast<double>(table.rows.front().macs) + again);
  EXPECT_EQ(costs.forward(), total);
}

TEST(Costs, OfARunAreItsEpochsForBpAndLessForCheaperOnes) {
  const testing::TempFolder folder;
  const auto cost = [&](const std::string& method) {
    return *train(small::config(method), small::task(), folder / method).cost_epochs;
  };
  EXPECT_NEAR(cost("bp"), 3, 1e-9);
  EXPECT_LT(cost("skip"), 2.2);  // 2 of 3 batches of two epochs are dropped: 1 + 2/3
  EXPECT_GT(cost("adagp"), cost("skip"));
  EXPECT_LT(cost("progressive"), 2.5);
}

TEST(Costs, OfCheapStepsAreThoseOfTheirParts) {
  const testing::TempFolder folder;
  const config::RunConfig base = small::config("bp");
  const step::Session s = small::session(base);
  const auto macs = [&](const std::string& input) {
    return layers::from_model(*s.net, base.model.name, input);
  };
  const auto sum = [](const layers::Table& table) {
    return static_cast<double>(layers::total_macs(table));
  };
  const auto backprop = [&](const layers::Table& table) {
    return 3 * sum(table) - static_cast<double>(table.rows.front().macs);
  };
  const auto whole = macs("16x16"), half = macs("8x8");
  const auto cost = [&](const std::string& method,
                        const std::function<void(config::RunConfig&)>& change) {
    config::RunConfig c = small::config(method);
    c.schedule = "gp";
    change(c);
    return *train(c, small::task(), folder / method).cost_epochs;
  };
  // Three epochs in which every batch is a cheap one.
  EXPECT_NEAR(cost("low-res",
                   [](config::RunConfig& c) { c.low_res = {.sizes = {8}, .scale_batch = false}; }),
              3 * backprop(half) / backprop(whole), 1e-9);
  const auto blocks =
      static_cast<int64_t>(dynamic_cast<const models::BlockNet&>(*s.net).blocks().size());
  const auto head = static_cast<double>(whole.rows.back().macs);
  EXPECT_NEAR(cost("freeze",
                   [&](config::RunConfig& c) {
                     c.freeze.at = {0.34};  // of three epochs: after the first
                     c.freeze.blocks = {blocks - 1};
                   }),
              1 + 2 * (sum(whole) + head) / backprop(whole), 1e-9);
}

TEST(BudgetSpec, NamesKeysAndLengths) {
  const auto plain = experiment::parse_budget_spec("progressive", {10, 20});
  EXPECT_EQ(plain.label, "progressive");
  EXPECT_EQ(plain.epochs, (std::vector<int64_t>{10, 20}));
  const auto full =
      experiment::parse_budget_spec("stored-loss[stored_loss.power=0.5; batch=512]@22/28", {10});
  EXPECT_EQ(full.method, "stored-loss");
  EXPECT_EQ(full.label, "stored-loss[stored_loss.power=0.5; batch=512]");
  EXPECT_EQ(full.sets, (std::vector<std::string>{"stored_loss.power=0.5", "batch=512"}));
  EXPECT_EQ(full.epochs, (std::vector<int64_t>{22, 28}));
  for (const std::string wrong : {"progressive@", "progressive@0", "progressive[a=1", "bp]",
                                  "progresive", "equal-time", "bp@ten"}) {
    EXPECT_NE(refusal([&] { experiment::parse_budget_spec(wrong, {10}); }), "nothing refused")
        << wrong;
  }
}

}  // namespace
}  // namespace adagp::train

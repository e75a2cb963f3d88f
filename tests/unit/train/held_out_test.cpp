// policy.watch = held-out: are the examples kept out of training, and is their loss the right one?

#include "adagp/base/plan/held_out.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/data/sets/registry.h"
#include "adagp/engine/run/weights.h"
#include "adagp/engine/task/classification.h"
#include "adagp/engine/train/trainer.h"
#include "unit/records.h"
#include "unit/train/trained.h"

namespace adagp::train {
namespace {

config::RunConfig watching(const std::string& loss, const std::string& method = "bp") {
  config::RunConfig c = small::config(method);
  c.policy.name = "plateau";
  c.policy.watch = loss;
  return c;
}

std::vector<int64_t> held_out() {
  return plan::watched_examples(watching("held-out"), 60);
}

// The small data set with the negatives of these training images, under other labels.
task::TaskPtr with_negatives(const std::vector<int64_t>& examples) {
  data::Splits splits = data::open(small::config().data);
  const at::Tensor images = splits.train->resident().clone();
  std::vector<int64_t> labels = splits.train->labels();
  for (const int64_t i : examples) {
    images.select(0, i).bitwise_not_();
    labels[static_cast<size_t>(i)] = (labels[static_cast<size_t>(i)] + 1) % 10;
  }
  splits.train = std::make_shared<data::ResidentDataset>(images, labels);
  return task::classification(splits);
}

io::TensorMap trained_on(const task::TaskPtr& task, const config::RunConfig& c) {
  const testing::TempFolder folder;
  train(c, task, folder / "run");
  return io::load_tensors(folder / "run" / "weights.safetensors").tensors;
}

bool any_differs(const io::TensorMap& a, const io::TensorMap& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& entry) {
    return !at::equal(entry.second, b.at(entry.first));
  });
}

// With the rate's patience (ten epochs) the loss that is watched changes nothing in three epochs.
TEST(WatchedHeldOut, WhatIsInItsExamplesReachesNoWeight) {
  const task::TaskPtr changed = with_negatives(held_out());
  for (const std::string method : {"bp", "adagp", "stored-loss", "progressive"}) {
    const config::RunConfig c = watching("held-out", method);
    expect_equal(trained_on(small::task(), c), trained_on(changed, c), method + ": ");
    // Where they are trained on they do.
    const config::RunConfig all = watching("train", method);
    EXPECT_TRUE(any_differs(trained_on(small::task(), all), trained_on(changed, all))) << method;
  }
}

TEST(WatchedHeldOut, AnEpochHasAllOtherExamples) {
  const config::RunConfig c = watching("held-out");
  const std::vector<int64_t> out = held_out();
  ASSERT_EQ(out.size(), 10U);  // a twentieth would be 3 and less than a batch
  Trainer trainer(c, small::task(), task::build_net(c, *small::task()));
  for (int64_t epoch = 0; epoch < c.epochs; ++epoch) {
    std::vector<int64_t> seen = trainer.planner().epoch_plan(epoch)->order;
    EXPECT_EQ(trainer.planner().batches(epoch), 5);
    seen.insert(seen.end(), out.begin(), out.end());
    std::sort(seen.begin(), seen.end());
    for (int64_t i = 0; i < 60; ++i) ASSERT_EQ(seen.at(static_cast<size_t>(i)), i) << epoch;
    EXPECT_EQ(seen.size(), 60U);
  }
}

TEST(WatchedHeldOut, NothingIsHeldOutThatNobodyWatches) {
  config::RunConfig c = watching("test");
  const auto planned = [&] {
    return Trainer(c, small::task(), task::build_net(c, *small::task())).planner().planned();
  };
  EXPECT_FALSE(planned());
  c.policy.watch = "held-out";
  EXPECT_TRUE(planned());
  c.policy.name = "triangle";
  EXPECT_FALSE(planned());
}

// That of the examples one by one, by the network at the end of the epoch in evaluation mode.
TEST(WatchedHeldOut, TheRecordedLossIsThatOfAnEvaluation) {
  const testing::TempFolder folder;
  config::RunConfig c = watching("held-out", "adagp");
  c.eval_batch = 4;  // the last batch is smaller
  train(c, small::task(), folder / "run");
  double recorded = -1;
  for (const auto& record : testing::records_of(folder / "run" / "metrics.jsonl")) {
    if (record.at("kind") == "epoch") recorded = record.at("held_out_loss").get<double>();
  }
  auto net = task::build_net(c, *small::task());
  run::load_state_dict(*net, io::load_tensors(folder / "run" / "weights.safetensors").tensors, "w");
  net->eval();
  const auto source = small::task()->batches(c, task::Use::kTrainInOrder, at::kCPU);
  const std::vector<int64_t> out = held_out();
  double sum = 0;
  for (int64_t b = 0; b < source->batches_per_epoch(); ++b) {
    const data::Batch batch = source->next();
    for (int64_t i = 0; i < batch.size(); ++i) {
      if (std::find(out.begin(), out.end(), 4 * b + i) == out.end()) continue;
      const at::NoGradGuard no_grad;
      const at::Tensor scores = net->forward(batch.images().narrow(0, i, 1));
      sum += at::cross_entropy_loss(scores, batch.labels().narrow(0, i, 1)).item<double>();
    }
  }
  EXPECT_NEAR(recorded, sum / 10, 1e-5);  // sums in another order, in fp32
}

TEST(WatchedHeldOut, IsRefusedByNameWhereItCannotBe) {
  const auto refusal = [](const config::RunConfig& c) -> std::string {
    const testing::TempFolder folder;
    try {
      train(c, small::task(), folder / "run");
    } catch (const UsageError& error) {
      return error.what();
    }
    return "nothing refused";
  };
  config::RunConfig few = watching("held-out");
  few.batch = 31;
  EXPECT_NE(refusal(few).find("policy.watch = held-out: 60 training examples"), std::string::npos)
      << refusal(few);
  config::RunConfig budget = watching("held-out", "equal-time");
  budget.equal_time_batches = 8;
  EXPECT_NE(refusal(budget).find("policy.watch = held-out: method equal-time"), std::string::npos)
      << refusal(budget);
}

}  // namespace
}  // namespace adagp::train

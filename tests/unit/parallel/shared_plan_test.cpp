// Do copies of a network, each with its share of every batch, plan what one process plans? Copies
// are threads. What an example's loss is follows from the epoch and the example alone, so that all
// must agree bit for bit.

#include <cctype>
#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/train/trainer.h"
#include "unit/comm/fake_group.h"
#include "unit/train/small.h"

namespace adagp::train {
namespace {

// A process with the whole network and its share of the batches.
class Copy : public step::SoloTeam {
 public:
  Copy(std::shared_ptr<testing::Exchange> exchange, int rank) : group_(std::move(exchange), rank) {}

  bool solo() const override { return false; }
  int rank() const override { return group_.rank(); }
  int64_t copies() const override { return group_.size(); }
  std::unique_ptr<data::BatchSource> share(std::unique_ptr<data::BatchSource> whole) override {
    whole->only_part(group_.rank(), group_.size());
    return whole;
  }
  void sum_over_copies(at::Tensor& tensor, const char* doing) override {
    std::vector<at::Tensor> one{tensor};
    group_.sum(one, doing);
  }

 private:
  testing::FakeGroup group_;
};

// 61 examples and batches of 12: the last ones are dropped, small images make batches of 40 and 48
// (8 | 48, not 3 | 40), a rule leaves epochs of any length.
config::RunConfig config_of(const std::string& method) {
  config::RunConfig c = small::config(method);
  c.data.synthetic_train = 61;
  c.batch = 12;
  c.epochs = 5;
  c.select_anneal = 0.2;
  c.low_res.sizes = {8, 12, 16};
  c.freeze.blocks = {1};
  c.freeze.at = {0.5};
  return c;
}

// Zeros of both signs and no number at all are among them.
float loss_of(int64_t epoch, int64_t example) {
  if (example % 20 == 7) return -0.0F;
  if (example % 20 == 9) return 0.0F;
  if (example % 30 == 11) return std::nanf("");
  return std::fmod(static_cast<float>(epoch * 31 + example * 17), 29.0F) / 7.0F;
}

struct Seen {
  struct Batch {
    std::vector<int64_t> indices, examples;
    std::vector<float> weights;
    int64_t side = 0, frozen = 0, whole = 0;
    double progress = 0;
    bool operator==(const Batch&) const = default;
  };
  std::vector<Batch> batches;
  std::vector<int32_t> losses;  // their bits, at the end
};

template <typename T>
std::vector<T> values(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  return {tensor.const_data_ptr<T>(), tensor.const_data_ptr<T>() + tensor.numel()};
}

// All batches of the run as this process gets them. A third of the way through each epoch losses
// are joined, as before a checkpoint.
Seen walk(const config::RunConfig& config, const task::TaskPtr& task,
          const std::shared_ptr<step::Team>& team) {
  Trainer trainer(config, task, task::build_net(config, *task), team);
  EpochPlanner& planner = trainer.planner();
  step::Session& session = trainer.session();
  const auto source = session.team->share(
      task->batches(config, task::Use::kTrain, at::kCPU, {}, planner.planner()));
  Seen out;
  for (int64_t epoch = 0; epoch < config.epochs; ++epoch) {
    for (int64_t position = 0; position == 0 || position < planner.batches(epoch); ++position) {
      data::Batch batch = source->next();
      planner.annotate(batch);
      EXPECT_EQ(batch.epoch, epoch);
      EXPECT_EQ(batch.size(), static_cast<int64_t>(batch.indices.size()));
      const auto shape = trainer.method().batch_plan().at(planner.context(epoch, position));
      out.batches.push_back({batch.indices, values<int64_t>(batch.examples),
                             values<float>(batch.weights), shape.image_side, shape.frozen_blocks,
                             batch.whole, planner.progress(epoch, position)});
      if (batch.examples.defined()) {
        std::vector<float> losses;
        for (const int64_t i : batch.indices) losses.push_back(loss_of(epoch, i));
        session.stored_losses.index_copy_(0, batch.examples, at::tensor(losses));
      }
      if (position == planner.batches(epoch) / 3) planner.join_losses();
    }
  }
  planner.join_losses();
  if (session.stored_losses.defined()) {
    out.losses = values<int32_t>(session.stored_losses.view(at::kInt));
  }
  return out;
}

void append(Seen::Batch& whole, const Seen::Batch& share) {
  whole.indices.insert(whole.indices.end(), share.indices.begin(), share.indices.end());
  whole.examples.insert(whole.examples.end(), share.examples.begin(), share.examples.end());
  whole.weights.insert(whole.weights.end(), share.weights.begin(), share.weights.end());
}

class EveryRule : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryRule, SharesOfAnyNumberOfProcessesMakeThePlanOfOne) {
  const config::RunConfig config = config_of(GetParam());
  const task::TaskPtr task = task::open_task(config);
  const Seen one = walk(config, task, nullptr);
  ASSERT_GE(one.batches.size(), 10U);
  for (const int processes : {2, 3, 4}) {
    SCOPED_TRACE(processes);
    const auto exchange = std::make_shared<testing::Exchange>(processes);
    std::vector<Seen> all(static_cast<size_t>(processes));
    testing::expect_no_errors(testing::on_threads(*exchange, [&](int rank) {
      all[static_cast<size_t>(rank)] = walk(config, task, std::make_shared<Copy>(exchange, rank));
    }));
    for (const Seen& seen : all) {
      ASSERT_EQ(seen.batches.size(), one.batches.size());
      EXPECT_EQ(seen.losses, one.losses);
    }
    for (size_t b = 0; b < one.batches.size(); ++b) {
      Seen::Batch joined = all[0].batches[b];
      for (size_t rank = 1; rank < all.size(); ++rank) append(joined, all[rank].batches[b]);
      EXPECT_EQ(joined, one.batches[b]) << "batch " << b;
      const auto equal = static_cast<int64_t>(one.batches[b].indices.size()) / processes;
      for (const Seen& seen : all) {
        const auto own = static_cast<int64_t>(seen.batches[b].indices.size());
        EXPECT_TRUE(own == equal || own == equal + 1) << own;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, EveryRule,
                         ::testing::Values("bp", "progressive", "stored-loss", "infobatch",
                                           "freeze", "progressive+stored-loss",
                                           "progressive+infobatch", "freeze+stored-loss"),
                         [](const auto& one) {
                           std::string name = one.param;
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });

// 50 epochs' worth of a power that keeps next to nothing.
TEST(SharedPlan, FewerExamplesThanProcessesAreRefusedWithTheNumbers) {
  config::RunConfig config = config_of("stored-loss");
  config.stored_loss_power = 1e6;
  const task::TaskPtr task = task::open_task(config);
  EXPECT_NO_THROW(walk(config, task, nullptr));
  const auto exchange = std::make_shared<testing::Exchange>(4);
  const auto errors = testing::on_threads(
      *exchange, [&](int rank) { walk(config, task, std::make_shared<Copy>(exchange, rank)); });
  for (const std::string& error : errors) {
    EXPECT_NE(error.find("a batch of epoch 2 has"), std::string::npos) << error;
    EXPECT_NE(error.find("4 processes need one each"), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace adagp::train

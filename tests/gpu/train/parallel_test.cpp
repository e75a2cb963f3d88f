// Steps of copies of a network on a GPU: one process over NCCL, recorded and not.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "adagp/base/core/files.h"
#include "adagp/engine/step/step_graph.h"
#include "adagp/gpu/device/graph.h"
#include "adagp/teams/comm/library_settings.h"
#include "adagp/teams/parallel/process_team.h"
#include "adagp/teams/parallel/signal_vote.h"
#include "gpu/train/world.h"
#include "unit/temp_folder.h"

namespace adagp {
namespace {

using test::GpuTest;

// As at the beginning of the program: before there is a second thread.
[[maybe_unused]] const bool kVariablesSet = [] {
  comm::set_library_variables();
  return true;
}();

TEST_F(GpuTest, WorkOutsideIsDoneBetweenThePiecesOfARecording) {
  const at::Device device(at::kCUDA, 0);
  device::use_own_stream(device);
  at::Tensor a = at::zeros({1}, device), b = at::zeros({1}, device), c = at::zeros({1}, device);
  int done = 0;
  const auto work = [&] {
    device::outside([&] { ++done; });
    a.add_(1);
    device::outside([&] { b.copy_(a * 10); });
    device::outside([&] { b.add_(++done); });
    c.copy_(b * 2);
    device::outside([&] { ++done; });
  };
  work();
  EXPECT_EQ(c.item<float>(), 2 * (10 + 2));
  EXPECT_EQ(done, 3);
  device::Graph graph;
  graph.capture(device, work);
  EXPECT_EQ(done, 3);
  for (int i = 1; i < 4; ++i) {
    graph.replay();
    EXPECT_EQ(c.item<float>(), static_cast<float>(2 * (10 * (i + 1) + 3 * i + 2)));
    EXPECT_EQ(done, 3 * (i + 1));
  }
}

TEST_F(GpuTest, ARecordingThatFailsInALaterPieceLeavesNothingBehind) {
  const at::Device device(at::kCUDA, 0);
  device::use_own_stream(device);
  at::Tensor a = at::zeros({1}, device);
  device::Graph graph;
  const auto asks = [&] {
    a.add_(1);
    device::outside([] {});
    a.add_(a.item<float>());  // waits for the device
  };
  EXPECT_THROW(graph.capture(device, asks), Error);
  EXPECT_FALSE(graph.captured());
  graph.capture(device, [&] {
    a.fill_(1);
    device::outside([&] { a.add_(1); });
    a.mul_(3);
  });
  graph.replay();
  EXPECT_EQ(a.item<float>(), 6);
}

class OneRank : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    const auto known = comm::backends();
    if (std::find(known.begin(), known.end(), "nccl") == known.end()) {
      GTEST_SKIP() << "built without NCCL";
    }
  }

  // The group of one process.
  std::unique_ptr<comm::Group> join() {
    comm::RankInfo info;
    info.file = (folder_ / ("store" + std::to_string(groups_++))).string();
    comm::GroupOptions options;
    options.backend = "nccl";
    return comm::join(info, options, device::choose_device("cuda"));
  }
  step::TeamMaker maker(const std::string& words) {
    return [this, words](const config::RunConfig& config, const task::Task& task,
                         const std::shared_ptr<models::Net>& net) -> std::shared_ptr<step::Team> {
      return std::make_shared<parallel::ProcessTeam>(join(), parallel::parse_spec(words), config,
                                                     task, *net);
    };
  }
  // The weights after a whole run.
  std::string weights_of(const config::RunConfig& config, const std::string& name,
                         const std::string& words = "data") {
    const core::fs::path run = folder_ / name;
    if (words.empty()) {
      train::train(config, run);
    } else {
      train::train_together(config, run, false, maker(words));
    }
    return core::read_file(run / "weights.safetensors");
  }
  testing::TempFolder folder_;

 private:
  int groups_ = 0;
};

// The rate moves and every third batch is GP, as in training.
TEST_F(OneRank, BothKindsOfStepAreRecordedAndEqualEager) {
  for (const char* precision : {"fp32", "bf16"}) {
    for (const char* words : {"data", "data,predict=gradients"}) {
      SCOPED_TRACE(std::string(precision) + " / " + words);
      const auto losses = [&](bool graphs) {
        config::RunConfig config = test::world(precision);
        config.graphs = graphs;
        const auto net = task::build_net(config, *test::task());
        step::Session s =
            step::make_session(config, test::task(), net, maker(words)(config, *test::task(), net));
        s.net->train();
        step::add_summaries(s);
        step::add_predictor(s, 20);
        const auto method = method::find_method(config.method).make(s);
        const auto source =
            s.team->share(test::task()->batches(config, task::Use::kTrain, s.device));
        step::StepGraph full("BP", graphs), cheap("GP", graphs);
        std::vector<double> out;
        for (int i = 0; i < 30; ++i) {
          s.set_lr(config.optim.lr * (1 + 0.01 * i));
          const data::Batch batch = source->next();
          if (i % 3 == 2) {
            cheap.run(s, batch, [&](const data::Batch& b) { return method->cheap_step(s, b); });
            continue;
          }
          method->advance(s);
          const auto step = [&](const data::Batch& b) { return method->exact_step(s, b, nullptr); };
          out.push_back(full.run(s, batch, step).loss.item<double>());
        }
        if (graphs) {
          EXPECT_EQ(full.state(), step::StepGraph::State::kReplay) << full.reason();
          EXPECT_EQ(cheap.state(), step::StepGraph::State::kReplay) << cheap.reason();
        }
        return out;
      };
      EXPECT_EQ(losses(true), losses(false));
    }
  }
}

TEST_F(OneRank, WholeRunsAreTheSameRecordedOrNot) {
  for (const char* method : {"bp", "adagp", "progressive", "progressive+stored-loss", "freeze"}) {
    SCOPED_TRACE(method);
    config::RunConfig config = test::world("bf16");
    config.method = method;
    const std::string recorded = weights_of(config, std::string(method) + " recorded");
    config.graphs = false;
    EXPECT_TRUE(recorded == weights_of(config, std::string(method) + " eager"));
  }
}

// A mean of one is exact, and so is a bf16 gradient in fp32.
TEST_F(OneRank, BackpropIsThatOfAProcessAlone) {
  for (const char* precision : {"fp32", "bf16"}) {
    SCOPED_TRACE(precision);
    config::RunConfig config = test::world(precision);
    config.method = "bp";
    const std::string together = weights_of(config, std::string(precision) + " together");
    EXPECT_TRUE(together == weights_of(config, std::string(precision) + " alone", ""));
  }
}

TEST_F(OneRank, ASignalIsHeardOneQuestionLaterOrNow) {
  const auto group = join();
  parallel::SignalVote later(*group);
  EXPECT_EQ(later.ask(15, false, "signals"), 0);
  EXPECT_EQ(later.ask(0, false, "signals"), 15);
  parallel::SignalVote now(*group);
  EXPECT_EQ(now.ask(0, true, "signals"), 0);
  EXPECT_EQ(now.ask(15, true, "signals"), 15);
}

TEST_F(OneRank, WhatExchangesWithinAPassIsNotRecorded) {
  config::RunConfig config = test::world("bf16");
  const auto net = task::build_net(config, *test::task());
  const auto team = maker("data")(config, *test::task(), net);
  EXPECT_EQ(team->unrecorded(), "");
  EXPECT_NE(maker("pipeline=gpipe")(config, *test::task(), net)->unrecorded(), "");
}

}  // namespace
}  // namespace adagp

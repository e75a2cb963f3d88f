// Recorded steps do what the steps themselves do.

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "adagp/core/error.h"
#include "adagp/core/files.h"
#include "adagp/train/step_graph.h"
#include "adagp/train/trainer.h"
#include "gpu/train/world.h"

namespace adagp {
namespace {

using test::GpuTest;

struct Folder {
  core::fs::path path = core::fs::temp_directory_path() / ("adagp-gpu-" + std::to_string(getpid()));
  Folder() { core::fs::remove_all(path); }
  ~Folder() { core::fs::remove_all(path); }
};

std::vector<double> losses(train::Config config, bool graphs, int steps) {
  config.graphs = graphs;
  train::Session s = test::session(config);
  auto method = train::find_method("adagp").make(s);
  train::StepGraph full("BP", graphs), cheap("GP", graphs);
  data::Loader loader(test::splits().train,
                      train::loader_options(config, test::splits(), true, s.device));
  std::vector<double> out;
  for (int i = 0; i < steps; ++i) {
    s.set_lr(0.02 + 0.0001 * i);  // a rate that moves, as in training
    const auto batch = loader.next();
    train::StepResult result;
    if (i % 3 == 2) {
      result = cheap.run(s, batch, [&](const data::Batch& b) { return method->cheap_step(s, b); });
    } else {
      method->advance(s);
      result = full.run(s, batch,
                        [&](const data::Batch& b) { return method->exact_step(s, b, nullptr); });
    }
    out.push_back(result.loss.item<double>());
  }
  if (graphs) {
    EXPECT_EQ(full.state(), train::StepGraph::State::kReplay) << full.reason();
    EXPECT_EQ(cheap.state(), train::StepGraph::State::kReplay) << cheap.reason();
  }
  return out;
}

TEST_F(GpuTest, ReplayedFp32TrainingIsBitIdenticalToEager) {
  EXPECT_EQ(losses(test::world("fp32"), true, 40), losses(test::world("fp32"), false, 40));
}

TEST_F(GpuTest, ReplayedBf16TrainingFollowsEagerForAHundredSteps) {
  const auto a = losses(test::world("bf16"), true, 100),
             b = losses(test::world("bf16"), false, 100);
  // Deterministic kernels throughout, so that equality is expected here, too.
  EXPECT_EQ(a, b);
}

TEST_F(GpuTest, ABatchOfAnotherShapeRunsAsItIs) {
  const auto config = test::world("bf16");
  train::Session s = test::session(config);
  train::StepGraph graph("BP");
  const auto step = [&](const data::Batch& b) { return train::bp_step(s, b); };
  const auto whole = test::batch(config);
  for (int i = 0; i < 4; ++i) graph.run(s, whole, step);
  ASSERT_EQ(graph.state(), train::StepGraph::State::kReplay);
  data::Batch part = whole;
  part.images = whole.images.narrow(0, 0, 5);
  part.labels = whole.labels.narrow(0, 0, 5);
  EXPECT_EQ(graph.run(s, part, step).logits.size(0), 5);
  EXPECT_EQ(graph.run(s, whole, step).logits.size(0), config.batch);
  // Another image size in the same run.
  data::Batch small = whole;
  small.images =
      whole.images.slice(2, 0, 32, 2).slice(3, 0, 32, 2).contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_THROW(graph.run(s, small, step), UsageError);  // too small for five pools
  const double loss = graph.run(s, whole, step).loss.item<double>();
  EXPECT_TRUE(std::isfinite(loss));
}

TEST_F(GpuTest, AStepThatAsksTheDeviceFallsBackWithAReason) {
  const auto config = test::world("bf16");
  train::Session s = test::session(config);
  train::StepGraph graph("asking");
  const auto step = [&](const data::Batch& b) {
    const auto result = train::bp_step(s, b);
    EXPECT_TRUE(std::isfinite(result.loss.item<double>()));  // waits
    return result;
  };
  const auto batch = test::batch(config);
  for (int i = 0; i < 5; ++i) graph.run(s, batch, step);
  EXPECT_EQ(graph.state(), train::StepGraph::State::kEager);
  EXPECT_FALSE(graph.reason().empty());
  // And others can still be recorded.
  train::StepGraph other("BP");
  const auto plain = [&](const data::Batch& b) { return train::bp_step(s, b); };
  for (int i = 0; i < 4; ++i) other.run(s, batch, plain);
  EXPECT_EQ(other.state(), train::StepGraph::State::kReplay) << other.reason();
}

// What a run that was killed after its last but one checkpoint leaves behind.
void forget_the_end(const core::fs::path& run) {
  std::vector<core::fs::path> checkpoints;
  for (const auto& entry : core::fs::directory_iterator(run / "checkpoint")) {
    checkpoints.push_back(entry.path());
  }
  ASSERT_GE(checkpoints.size(), 2U);
  core::fs::remove_all(*std::max_element(checkpoints.begin(), checkpoints.end()));
  core::fs::remove(run / "summary.json");
  core::fs::remove(run / "weights.safetensors");
}

TEST_F(GpuTest, AResumedRunEndsWithTheSameWeights) {
  for (const char* precision : {"fp32", "bf16"}) {
    const Folder folder;
    auto config = test::world(precision);
    config.checkpoint_every = "25ba";  // after 25, 50 and 60 batches
    train::train(config, test::splits(), folder.path, false);
    const std::string whole = core::read_file(folder.path / "weights.safetensors");
    forget_the_end(folder.path);
    train::train(config, test::splits(), folder.path, false);
    EXPECT_TRUE(whole == core::read_file(folder.path / "weights.safetensors")) << precision;
  }
}

TEST_F(GpuTest, NaNInAReplayedStepIsReportedWithItsInterval) {
  Folder folder;
  auto config = test::world("bf16");
  config.optim.lr = 1e20;
  config.loss_limit = 1e30;
  try {
    train::train(config, test::splits(), folder.path, false);
    FAIL() << "a learning rate of 1e20 did not diverge";
  } catch (const DivergedError& error) {
    EXPECT_NE(std::string(error.what()).find("between epoch"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace adagp

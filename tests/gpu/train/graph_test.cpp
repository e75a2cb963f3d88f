// Recorded steps do what the steps themselves do.

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/engine/step/step_graph.h"
#include "adagp/engine/train/trainer.h"
#include "gpu/train/world.h"
#include "unit/with_rivals.h"

namespace adagp {
namespace {

using test::GpuTest;

struct Folder {
  core::fs::path path = core::fs::temp_directory_path() / ("adagp-gpu-" + std::to_string(getpid()));
  Folder() { core::fs::remove_all(path); }
  ~Folder() { core::fs::remove_all(path); }
};

// Losses of `steps` batches, every third of them GP, as the method shows them.
std::vector<double> losses(config::RunConfig config, bool graphs, int steps) {
  config.graphs = graphs;
  step::Session s = test::session(config);
  auto method = method::find_method(config.method).make(s);
  step::StepGraph full("BP", graphs), cheap("GP", graphs);
  const auto loader = test::task()->batches(config, task::Use::kTrain, s.device);
  std::vector<double> out;
  for (int i = 0; i < steps; ++i) {
    s.set_lr(config.optim.lr * (1 + 0.01 * i));  // a rate that moves, as in training
    const bool predicted = i % 3 == 2;
    const plan::BatchContext moment{
        0, 1, predicted ? schedule::Phase::kPredict : schedule::Phase::kBackprop};
    const auto batch = method->transform_batch(loader->next(), moment);
    for (const auto& part : s.parts) {
      part->before_batch(s, batch, i, i / static_cast<double>(steps));
    }
    if (predicted) {
      const auto given = method->traits().cheap_needs_data ? batch : data::Batch();
      cheap.run(s, given, [&](const data::Batch& b) { return method->cheap_step(s, b); });
      continue;  // a blind step has no loss; the next BP batch shows what it did
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
}

// Deterministic kernels throughout, so that equality is expected in bf16, too.
void expect_replay_equals_eager(const config::RunConfig& config, int steps) {
  const auto replayed = losses(config, true, steps);
  EXPECT_EQ(replayed, losses(config, false, steps));
  for (const double loss : replayed) EXPECT_TRUE(std::isfinite(loss));
}

TEST_F(GpuTest, ReplayedFp32TrainingIsBitIdenticalToEager) {
  expect_replay_equals_eager(test::world("fp32"), 60);
}

TEST_F(GpuTest, ReplayedBf16TrainingIsBitIdenticalToEager) {
  expect_replay_equals_eager(test::world("bf16"), 150);
}

// Its blocks have buffers that BP and GP steps make anew, each graph in its own memory.
TEST_F(GpuTest, ReplayedDenseNetIsBitIdenticalToEager) {
  for (const char* precision : {"fp32", "bf16"}) {
    for (const int64_t divisor : {4, 8}) {  // layers of eight channels and of four
      SCOPED_TRACE(std::string(precision) + " / " + std::to_string(divisor));
      auto config = test::world(precision);
      config.model.name = "densenet121";
      config.model.width_divisor = divisor;
      expect_replay_equals_eager(config, 18);
    }
  }
}

// Blocks whose branches write into one map and add their gradients inside products.
TEST_F(GpuTest, ReplayedInceptionAndResNetAreBitIdenticalToEager) {
  for (const char* network : {"inception_v3", "resnet50"}) {
    SCOPED_TRACE(network);
    auto config = test::world("bf16");
    config.model.name = network;
    expect_replay_equals_eager(config, 18);
  }
}

TEST_F(GpuTest, EveryMethodAndOptionCanBeReplayed) {
  const auto expect_for = [](const std::string& what, const auto& change) {
    SCOPED_TRACE(what);
    auto config = test::world("bf16");
    change(config);
    expect_replay_equals_eager(config, 18);
  };
  for (const char* method : {"zero", "ema", "small-batch", "wrong-input", "low-res", "selective",
                             "partial", "control-variate", "xgrad", "dropback"}) {
    expect_for(method, [&](config::RunConfig& c) { c.method = method; });
  }
  expect_for("priority sampling", [](config::RunConfig& c) {
    c.method = "selective";
    c.parts.get<rivals::SelectiveOptions>().rule = "priority";
  });
  expect_for("estimated threshold", [](config::RunConfig& c) {
    c.method = "dropback";
    c.parts.get<rivals::DropBackOptions>().threshold = "estimate";
    c.parts.get<rivals::DropBackOptions>().freeze = "9ba";
  });
  for (const char* rule : {"adaptive", "fixed", "temporal-low-to-high"}) {
    expect_for(rule, [&](config::RunConfig& c) {
      c.precision = "fast";
      c.parts.get<rivals::FastOptions>().rule = rule;
      c.parts.get<rivals::FastOptions>().every = "4ba";
    });
  }
  for (const char* signal : {"auxiliary", "synthetic", "feedback"}) {
    expect_for(signal, [&](config::RunConfig& c) {
      c.method = "modules";
      c.parts.get<rivals::ModulesOptions>().signal = signal;
    });
  }
  for (const char* input : {"zeros", "noise", "labels"}) {
    expect_for(input, [&](config::RunConfig& c) { c.predictor.input = input; });
  }
  expect_for("steps per layer", [](config::RunConfig& c) { c.predictor.steps = "per-layer"; });
  expect_for("pooled first", [](config::RunConfig& c) { c.predictor.order = "pool-conv"; });
  for (const char* kind : {"mlp", "remap", "dfa", "dfa-random", "vt", "dni", "head-ridge"}) {
    expect_for(kind, [&](config::RunConfig& c) { c.predictor.kind = kind; });
  }
  expect_for("resnet8", [](config::RunConfig& c) {
    c.model.name = "resnet8";
    c.model.width_divisor = 1;
  });
  for (const char* precision : {"fp32", "bf16"}) {
    expect_for(std::string("reversible ") + precision, [&](config::RunConfig& c) {
      c.model.name = "revnet18s";
      c.model.width_divisor = 1;
      c.precision = precision;
    });
  }
  expect_for("frozen backbone", [](config::RunConfig& c) {
    c.model.name = "duplex";
    c.model.duplex = {"resnet8", 4, 32, 8};
    c.model.width_divisor = 1;
  });
  expect_for("bit errors",
             [](config::RunConfig& c) { c.parts.get<rivals::EdramOptions>().error = 0.01; });
  expect_for("adam", [](config::RunConfig& c) {
    c.optim.name = "adam";
    c.optim.lr = 1e-3;
  });
  expect_for("clip", [](config::RunConfig& c) { c.clip = 0.5; });
  expect_for("accumulate", [](config::RunConfig& c) { c.accumulate = 2; });
  expect_for("exact head", [](config::RunConfig& c) { c.head = "exact"; });
}

// The weights after a whole run: stages, chosen examples, trials and all.
std::string weights_of(const config::RunConfig& config, const core::fs::path& folder) {
  train::train(config, test::task(), folder, false);
  return core::read_file(folder / "weights.safetensors");
}

// One run of each kind whose batches are not all alike, with at least one trial of auto's steps.
std::vector<config::RunConfig> whole_runs() {
  std::vector<config::RunConfig> out;
  for (const char* method : {"progressive", "stored-loss", "infobatch", "progressive+stored-loss",
                             "selective+stored-loss", "freeze", "auto"}) {
    out.push_back(test::world("bf16"));
    config::RunConfig& c = out.back();
    c.method = method;
    auto& automatic = c.parts.get<rivals::AutoOptions>();
    automatic.steps = {"adagp"};
    automatic.clock = "counted";  // seconds would decide otherwise every time
    automatic.heldout = 64;
    automatic.window = 4;
    automatic.pairs = 3;
    automatic.probe_share = 0.9;
  }
  return out;
}

TEST_F(GpuTest, WholeRunsAreTheSameRecordedOrNot) {
  for (config::RunConfig config : whole_runs()) {
    SCOPED_TRACE(config.method);
    const Folder folder;
    const std::string recorded = weights_of(config, folder.path / "recorded");
    config.graphs = false;
    EXPECT_TRUE(recorded == weights_of(config, folder.path / "eager"));
    if (config.method != "auto") continue;
    const std::string told = core::read_file(folder.path / "recorded" / "metrics.jsonl");
    EXPECT_NE(told.find("\"decision\""), std::string::npos) << "auto tried nothing";
  }
}

// Losses on the test set after each epoch of a run.
std::vector<double> test_losses(const config::RunConfig& config, const core::fs::path& folder) {
  train::train(config, test::task(), folder, false);
  std::vector<double> out;
  std::istringstream lines(core::read_file(folder / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto record = nlohmann::json::parse(line);
    if (record.value("kind", "") == "epoch") out.push_back(record.at("test_loss"));
  }
  return out;
}

// Evaluation is recorded after the first epoch, and the steps of these methods are not.
TEST_F(GpuTest, EvaluationOfModulesIsTheSameRecordedOrNot) {
  for (const char* signal : {"delayed", "replay"}) {
    SCOPED_TRACE(signal);
    const Folder folder;
    config::RunConfig config = test::world("bf16");
    config.method = "modules";
    config.parts.get<rivals::ModulesOptions>().signal = signal;
    const auto recorded = test_losses(config, folder.path / "recorded");
    config.graphs = false;
    EXPECT_EQ(recorded, test_losses(config, folder.path / "eager"));
    EXPECT_EQ(std::ssize(recorded), config.epochs);
  }
}

TEST_F(GpuTest, ABatchOfAnotherShapeRunsAsItIs) {
  const auto config = test::world("bf16");
  step::Session s = test::session(config);
  step::StepGraph graph("BP");
  const auto step = [&](const data::Batch& b) { return step::backprop_step(s, b); };
  const auto whole = test::batch(config);
  for (int i = 0; i < 4; ++i) graph.run(s, whole, step);
  ASSERT_EQ(graph.state(), step::StepGraph::State::kReplay);
  const data::Batch part = whole.part(0, 5);
  EXPECT_EQ(graph.run(s, part, step).outputs[0].size(0), 5);
  EXPECT_EQ(graph.run(s, whole, step).outputs[0].size(0), config.batch);
  // Another image size in the same run.
  data::Batch small = whole;
  small.inputs[0] = whole.images()
                        .slice(2, 0, 32, 2)
                        .slice(3, 0, 32, 2)
                        .contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_EQ(graph.run(s, small, step).outputs[0].size(0), config.batch);
  // An error inside a step leaves the recordings as they are.
  small.inputs[0] = small.inputs[0].narrow(1, 0, 2);
  EXPECT_ANY_THROW(graph.run(s, small, step));
  s.optimizer->clear_gradients();
  const double loss = graph.run(s, whole, step).loss.item<double>();
  EXPECT_TRUE(std::isfinite(loss));
}

TEST_F(GpuTest, AStepThatAsksTheDeviceFallsBackWithAReason) {
  const auto config = test::world("bf16");
  step::Session s = test::session(config);
  step::StepGraph graph("asking");
  const auto step = [&](const data::Batch& b) {
    const auto result = step::backprop_step(s, b);
    EXPECT_TRUE(std::isfinite(result.loss.item<double>()));  // waits
    return result;
  };
  const auto batch = test::batch(config);
  for (int i = 0; i < 5; ++i) graph.run(s, batch, step);
  EXPECT_EQ(graph.state(), step::StepGraph::State::kEager);
  EXPECT_FALSE(graph.reason().empty());
  // And others can still be recorded.
  step::StepGraph other("BP");
  const auto plain = [&](const data::Batch& b) { return step::backprop_step(s, b); };
  for (int i = 0; i < 4; ++i) other.run(s, batch, plain);
  EXPECT_EQ(other.state(), step::StepGraph::State::kReplay) << other.reason();
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
  auto configs = whole_runs();
  configs.push_back(test::world("fp32"));
  configs.push_back(test::world("bf16"));
  for (config::RunConfig& config : configs) {
    SCOPED_TRACE(config.method + " " + config.precision);
    const Folder folder;
    config.checkpoint_every = "25ba";  // of 60 batches, so that there are at least two
    const std::string whole = weights_of(config, folder.path);
    forget_the_end(folder.path);
    EXPECT_TRUE(whole == weights_of(config, folder.path));
  }
}

TEST_F(GpuTest, NaNInAReplayedStepIsReportedWithItsInterval) {
  Folder folder;
  auto config = test::world("bf16");
  config.optim.lr = 1e20;
  config.loss_limit = 1e30;
  try {
    train::train(config, test::task(), folder.path, false);
    FAIL() << "a learning rate of 1e20 did not diverge";
  } catch (const DivergedError& error) {
    EXPECT_NE(std::string(error.what()).find("between epoch"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace adagp

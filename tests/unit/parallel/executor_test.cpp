// Do the devices of a pipeline, each with its op list, compute what one process computes? Devices
// are threads. In fp64, where sums of up to 1e5 terms in another order stay far below 1e-9.

#include "adagp/teams/parallel/executor.h"

#include <map>
#include <memory>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "unit/comm/fake_group.h"
#include "unit/train/small.h"

namespace adagp::parallel {
namespace {

using pipeline::Phase;

pipeline::Placement placement_of(const std::string& schedule, int devices, int micro_batches,
                                 int chunks = 1) {
  pipeline::Request request;
  request.schedule = schedule;
  request.devices = devices;
  request.micro_batches = micro_batches;
  request.chunks = chunks;
  return pipeline::make_placement(request);
}

data::Batch in_fp64(data::Batch batch) {
  for (at::Tensor& input : batch.inputs) {
    if (input.is_floating_point()) input = input.to(at::kDouble);
  }
  return batch;
}

std::shared_ptr<models::Net> net_in_fp64(const config::RunConfig& config, const task::Task& task) {
  auto net = task::build_net(config, task);
  net->to(at::kDouble);
  net->train();
  return net;
}

// One process, without any of our steps: gradients by name, loss and outputs of the whole batch.
struct Expected {
  Expected(const config::RunConfig& config, const task::Task& task, const data::Batch& batch,
           int micro_batches) {
    const auto net = net_in_fp64(config, task);
    const int64_t each = batch.size() / micro_batches;
    task::RunningMetrics tally;
    for (int micro = 0; micro < micro_batches; ++micro) {
      const data::Batch part = batch.part(micro * each, each);
      const models::Tensors out = net->run(part.inputs);
      const at::Tensor share =
          task.loss(config, tally, out, part.targets, {}).value / micro_batches;
      share.backward();
      loss = loss.defined() ? loss + share.detach() : share.detach();
      outputs.push_back(out[0].detach());
    }
    for (const auto& item : net->named_parameters()) gradients[item.key()] = item.value().grad();
  }
  std::map<std::string, at::Tensor> gradients;
  at::Tensor loss;
  std::vector<at::Tensor> outputs;  // by micro-batch
};

void expect_near(const at::Tensor& found, const at::Tensor& expected, const std::string& what) {
  ASSERT_TRUE(found.defined()) << what;
  ASSERT_EQ(found.sizes(), expected.sizes()) << what;
  const double size = expected.norm().item<double>();
  EXPECT_LE((found - expected).norm().item<double>(), 1e-9 * size) << what;
}

// The devices of one pipeline, each with the whole network, of which it runs its stages.
class Pipeline {
 public:
  Pipeline(const config::RunConfig& config, const task::TaskPtr& task,
           const pipeline::Placement& placement)
      : placement(placement),
        exchange(std::make_shared<adagp::testing::Exchange>(placement.devices)) {
    const auto net = task::build_net(config, *task);
    stages = layers::cut(*net, config.model.name, task->input_name(config), placement.stages);
    for (int device = 0; device < placement.devices; ++device) {
      sessions.push_back(step::make_session(config, task, net_in_fp64(config, *task)));
      sessions.back().net->train();
      groups.push_back(std::make_unique<adagp::testing::FakeGroup>(exchange, device));
      executors.push_back(std::make_unique<Executor>(
          placement, stages, placement.devices > 1 ? groups.back().get() : nullptr, device));
    }
    results.resize(sessions.size());
  }

  // One batch on all devices; their errors.
  std::vector<std::string> run(const data::Batch& batch, Phase phase) {
    return adagp::testing::on_threads(*exchange, [&](int device) { run_on(device, batch, phase); });
  }
  void run_on(int device, const data::Batch& batch, Phase phase) {
    auto& session = sessions[static_cast<size_t>(device)];
    Executor& executor = *executors[static_cast<size_t>(device)];
    session.optimizer->clear_gradients();
    results[static_cast<size_t>(device)] =
        executor.run(session, executor.needs_batches() ? batch : data::Batch{}, phase, false);
  }

  // A gradient as the sum over the devices that have it, which are replicas of the stage.
  at::Tensor gradient(const std::string& name) const {
    at::Tensor sum;
    for (const auto& session : sessions) {
      const at::Tensor own = session.net->named_parameters()[name].grad();
      if (own.defined()) sum = sum.defined() ? sum + own : own;
    }
    return sum;
  }
  at::Tensor loss() const {
    at::Tensor sum;
    for (const auto& result : results) {
      if (result.loss.defined()) sum = sum.defined() ? sum + result.loss : result.loss;
    }
    return sum;
  }

  void expect(const Expected& expected) const {
    for (const auto& [name, gradient_of_one] : expected.gradients) {
      expect_near(gradient(name), gradient_of_one, name);
    }
    expect_near(loss(), expected.loss, "loss");
  }
  // Every device has gradients of its own stages and of no other.
  void expect_gradients_in_their_stages() const {
    for (size_t device = 0; device < sessions.size(); ++device) {
      std::set<std::string> own;
      for (const int stage : executors[device]->stages()) {
        const auto& names = stages.names[static_cast<size_t>(stage)];
        own.insert(names.begin(), names.end());
      }
      for (const auto& item : sessions[device].net->named_parameters()) {
        EXPECT_EQ(item.value().grad().defined(), own.contains(item.key()))
            << item.key() << " on device " << device;
      }
    }
  }
  int64_t sent(bool specs) const {
    int64_t count = 0;
    for (const auto& message : exchange->messages) {
      EXPECT_TRUE(message->received) << "tag " << message->tag;
      if ((message->tag % comm::kTags == 0) == specs) ++count;
    }
    return count;
  }

  pipeline::Placement placement;
  layers::Stages stages;
  std::shared_ptr<adagp::testing::Exchange> exchange;
  std::vector<step::Session> sessions;
  std::vector<std::unique_ptr<adagp::testing::FakeGroup>> groups;
  std::vector<std::unique_ptr<Executor>> executors;
  std::vector<step::StepResult> results;
};

TEST(Executor, GradientsAreThoseOfOneProcessWhateverTheSchedule) {
  const config::RunConfig config = small::config("bp");
  const data::Batch batch = in_fp64(small::batch(config));
  const Expected expected(config, *small::task(), batch, 2);
  for (const auto& placement :
       {placement_of("dapple", 1, 2), placement_of("gpipe", 2, 2), placement_of("dapple", 3, 2),
        placement_of("zero-bubble", 2, 2), placement_of("interleaved", 2, 2, 2),
        placement_of("chimera", 2, 2)}) {
    SCOPED_TRACE(placement.schedule + " on " + std::to_string(placement.devices));
    Pipeline pipe(config, small::task(), placement);
    adagp::testing::expect_no_errors(pipe.run(batch, Phase::kBackprop));
    pipe.expect(expected);
    pipe.expect_gradients_in_their_stages();
    if (placement.replicas > 1) continue;  // whose outputs lie on both devices
    const int last = placement.device_of(placement.stages - 1, 0);
    const auto& result = pipe.results[static_cast<size_t>(last)];
    expect_near(result.outputs.at(0), at::cat(expected.outputs), "outputs");
    EXPECT_FALSE(result.outputs[0].requires_grad() || result.loss.requires_grad());
  }
}

TEST(Executor, LaterBatchesSendNoSpecsAndEveryMessageIsReceived) {
  const config::RunConfig config = small::config("bp");
  Pipeline pipe(config, small::task(), placement_of("gpipe", 2, 2));
  const std::vector<Phase> phases{Phase::kBackprop, Phase::kPredict, Phase::kBackprop,
                                  Phase::kPredict, Phase::kBackprop};
  for (size_t b = 0; b < phases.size(); ++b) {
    const data::Batch batch = in_fp64(small::batch(config, static_cast<int64_t>(b)));
    adagp::testing::expect_no_errors(pipe.run(batch, phases[b]));
    // Batch norms in training mode do not look at their running means.
    const Expected expected(config, *small::task(), batch, 2);
    if (phases[b] == Phase::kBackprop) {
      pipe.expect(expected);
      continue;
    }
    expect_near(pipe.loss(), expected.loss, "loss");
    expect_near(pipe.results[1].outputs.at(0), at::cat(expected.outputs), "outputs");
    for (const auto& session : pipe.sessions) {
      for (const auto& item : session.net->named_parameters()) {
        EXPECT_FALSE(item.value().grad().defined()) << item.key();
      }
    }
  }
  // Of two micro-batches the activations, and in BP the gradients.
  EXPECT_EQ(pipe.sent(true), 2 * 2 + 2);
  EXPECT_EQ(pipe.sent(false), 3 * 2 * 2 + 2 * 2);
}

// A message that was answered takes no memory: after a batch there are the gradients that went to
// the stage before, and the next batch lets go of them.
TEST(Executor, WhatWasAnsweredIsNotKept) {
  const config::RunConfig config = small::config("bp");
  const data::Batch batch = in_fp64(small::batch(config));
  for (const auto& placement :
       {placement_of("gpipe", 2, 2), placement_of("dapple", 3, 2),
        placement_of("zero-bubble", 2, 2), placement_of("interleaved", 2, 2, 2),
        placement_of("chimera", 2, 2)}) {
    SCOPED_TRACE(placement.schedule);
    Pipeline pipe(config, small::task(), placement);
    const auto& messages = pipe.exchange->messages;
    for (int run = 0; run < 3; ++run) {
      const size_t before = messages.size();
      adagp::testing::expect_no_errors(pipe.run(batch, Phase::kBackprop));
      for (size_t i = 0; i < messages.size(); ++i) {
        const bool gradient = messages[i]->tag / comm::kTags % 2 == 1;
        EXPECT_EQ(messages[i]->held, gradient && i >= before)
            << "run " << run << ", message " << i << " of " << messages.size();
      }
    }
  }
}

// What it sends stays where it is until it is received, so that much and no more.
TEST(Executor, AStageRunsAheadOfTheNextByTwoBatches) {
  const config::RunConfig config = small::config("bp");
  const data::Batch batch = in_fp64(small::batch(config));
  constexpr int kBatches = 4;
  const auto placement = placement_of("gpipe", 2, 2);
  {
    Pipeline pipe(config, small::task(), placement);
    int run = 0;
    const auto errors = adagp::testing::on_threads(*pipe.exchange, [&](int device) {
      if (device == 1) return;  // it never comes
      for (; run < kBatches; ++run) pipe.run_on(device, batch, Phase::kPredict);
    });
    EXPECT_EQ(run, 2);
    EXPECT_NE(errors[0].find("at stage 0, batch 0: all members wait"), std::string::npos)
        << errors[0];
  }
  Pipeline pipe(config, small::task(), placement);
  const size_t all_of_two = 2 + 2 * 2;  // specs with the first, then two micro-batches each
  adagp::testing::expect_no_errors(adagp::testing::on_threads(*pipe.exchange, [&](int device) {
    if (device == 1) {
      pipe.exchange->wait("its turn", [&] { return pipe.exchange->messages.size() == all_of_two; });
    }
    for (int i = 0; i < kBatches; ++i) pipe.run_on(device, batch, Phase::kPredict);
  }));
  expect_near(pipe.loss(), Expected(config, *small::task(), batch, 2).loss, "loss");
  EXPECT_EQ(pipe.sent(false), kBatches * 2);
}

TEST(Executor, OtherShapesThanBeforeAreAnErrorThatNamesTheMessage) {
  const config::RunConfig config = small::config("bp");
  Pipeline pipe(config, small::task(), placement_of("gpipe", 2, 2));
  const data::Batch batch = in_fp64(small::batch(config));
  adagp::testing::expect_no_errors(pipe.run(batch, Phase::kBackprop));
  const auto errors = pipe.run(batch.part(0, 6), Phase::kBackprop);
  for (const char* part : {"activations of micro-batch 0 at stage 0, batch 1", "shapes"}) {
    EXPECT_NE(errors[0].find(part), std::string::npos) << errors[0];
  }
}

// Sentences: several tensors cross a cut, some without a gradient, and every batch has its lengths.
TEST(Executor, BatchesOfOtherLengthsSendTheirSpecsEachTime) {
  config::RunConfig config;
  config.model.name = "transformer";
  auto& sizes = config.model.transformer;
  sizes.width = 16;
  sizes.heads = 2;
  sizes.hidden = 32;
  sizes.encoder_layers = sizes.decoder_layers = 1;
  sizes.dropout = 0;
  config.translation.min_frequency = 1;
  config.data.name = "synthetic-translation";
  config.data.synthetic_train = 64;
  config.data.synthetic_test = 8;
  config.method = "bp";
  config.batch = 8;
  config.device = "cpu";
  const task::TaskPtr task = task::open_task(config);
  task->resolve(config);
  const auto source = task->batches(config, task::Use::kTrain, at::kCPU);

  Pipeline pipe(config, task, placement_of("dapple", 2, 2));
  std::set<std::vector<int64_t>> shapes;
  for (int b = 0; b < 4; ++b) {
    const data::Batch batch = source->next();
    shapes.insert(batch.inputs.at(0).sizes().vec());
    adagp::testing::expect_no_errors(pipe.run(batch, Phase::kBackprop));
    pipe.expect(Expected(config, *task, batch, 2));
    EXPECT_EQ(pipe.sent(true), (b + 1) * 2 * 2);
  }
  EXPECT_GT(shapes.size(), 1U) << "all batches were alike";
}

// (4 + 1) boundaries x 1 copy x 2 directions x 8 tags: 2^31 - 1 is reached at 26 843 545.
TEST(Executor, MoreMicroBatchesThanTagsAreRefusedWithTheNumbers) {
  pipeline::Placement placement = placement_of("gpipe", 4, 4);
  placement.micro_batches = 26'843'546;
  try {
    const Executor executor(placement, {}, nullptr, 0);
    FAIL() << "taken";
  } catch (const UsageError& error) {
    const std::string said = error.what();
    for (const char* part : {"4 stages", "26843546 micro-batches", "at most 26843545"}) {
      EXPECT_NE(said.find(part), std::string::npos) << said;
    }
  }
}

TEST(Executor, NeedsBatchesWhereTheFirstOrTheLastStageIs) {
  const auto needing = [](const pipeline::Placement& placement) {
    std::vector<int> devices;
    for (int device = 0; device < placement.devices; ++device) {
      if (Executor(placement, {}, nullptr, device).needs_batches()) devices.push_back(device);
    }
    return devices;
  };
  EXPECT_EQ(needing(placement_of("dapple", 1, 2)), (std::vector<int>{0}));
  EXPECT_EQ(needing(placement_of("gpipe", 2, 2)), (std::vector<int>{0, 1}));
  EXPECT_EQ(needing(placement_of("zero-bubble", 4, 4)), (std::vector<int>{0, 3}));
  // Chimera's second replica begins where the first ends.
  EXPECT_EQ(needing(placement_of("chimera", 4, 4)), (std::vector<int>{0, 3}));
  // Stages 0 .. 5 dealt out in turn: device 1 has 1 and 4.
  EXPECT_EQ(needing(placement_of("interleaved", 3, 3, 2)), (std::vector<int>{0, 2}));
}

}  // namespace
}  // namespace adagp::parallel

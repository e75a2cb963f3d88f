// Does the checker pass every schedule and reject lists that are broken by hand?

#include <algorithm>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "unit/pipeline/check.h"

namespace adagp::pipeline {
namespace {

Plan plan_of(const std::string& schedule, int devices = 4, int micro_batches = 4, int chunks = 1,
             bool overlap = true) {
  Request request;
  request.schedule = schedule;
  request.devices = devices;
  request.micro_batches = micro_batches;
  request.chunks = chunks;
  request.overlap = overlap;
  request.phases = {Phase::kBackprop, Phase::kPredict,  Phase::kPredict,
                    Phase::kBackprop, Phase::kBackprop, Phase::kPredict};
  return make_plan(request);
}

std::string found_in(const Plan& plan) {
  return core::join(problems(plan), "\n");
}

// The place of the first op like this on a device.
size_t place_of(const Plan& plan, size_t device, Kind kind, int micro, bool gradient = false) {
  const OpList& list = plan.devices[device];
  const auto found = std::find_if(list.begin(), list.end(), [&](const Op& op) {
    return op.kind == kind && op.micro == micro && op.gradient == gradient;
  });
  EXPECT_NE(found, list.end());
  return static_cast<size_t>(found - list.begin());
}

void expect_problem(const Plan& plan, const std::string& text) {
  EXPECT_NE(found_in(plan).find(text), std::string::npos) << "found: " << found_in(plan);
  EXPECT_THROW(check(plan), Error);
}

TEST(PipelineCheck, EverySchedulePasses) {
  for (const Schedule& schedule : schedules()) {
    for (const int devices : {1, 2, 3, 4, 6, 8}) {
      for (const int micro : {1, 2, 4, 7, 8, 12, 24}) {
        for (const int chunks : {1, 2, 3}) {
          for (const bool overlap : {true, false}) {
            Plan plan;
            try {
              plan = plan_of(schedule.name, devices, micro, chunks, overlap);
            } catch (const UsageError&) {
              continue;
            }
            EXPECT_EQ(found_in(plan), "")
                << schedule.name << " " << devices << " x " << micro << ", " << chunks;
          }
        }
      }
    }
  }
}

TEST(PipelineCheck, AMissingReceive) {
  Plan plan = plan_of("dapple");
  OpList& list = plan.devices[2];
  list.erase(list.begin() + static_cast<long>(place_of(plan, 2, Kind::kReceive, 1)));
  expect_problem(plan, "its input has not come yet");
  expect_problem(plan, "1 sends and 0 receives");
}

TEST(PipelineCheck, AMissingSend) {
  Plan plan = plan_of("gpipe");
  OpList& list = plan.devices[2];
  list.erase(list.begin() + static_cast<long>(place_of(plan, 2, Kind::kSend, 1, true)));
  expect_problem(plan, "0 sends and 1 receives");
  expect_problem(plan, "deadlock");
}

// The first stage wants its first gradient before it has sent the last activations, the second
// stage the other way round.
TEST(PipelineCheck, AnOrderThatDeadlocks) {
  Plan plan = plan_of("gpipe", 2, 2);
  OpList& list = plan.devices[0];
  const size_t receive = place_of(plan, 0, Kind::kReceive, 1, true);
  const Op op = list[receive];
  list.erase(list.begin() + static_cast<long>(receive));
  list.insert(list.begin(), op);
  expect_problem(plan, "deadlock: device 0 waits at its op 0, receive of a gradient");
  EXPECT_EQ(problems(plan).size(), 1U) << found_in(plan);  // nothing else is wrong with it
}

TEST(PipelineCheck, PartnersThatMeetInDifferentOrders) {
  Plan plan = plan_of("chimera");
  OpList& list = plan.devices[0];
  const size_t first = place_of(plan, 0, Kind::kAllReduce, -1);
  std::swap(list[first], list[first + 1]);
  expect_problem(plan, "deadlock");
}

TEST(PipelineCheck, ADuplicatedOp) {
  Plan plan = plan_of("zero-bubble");
  OpList& list = plan.devices[1];
  const size_t forward = place_of(plan, 1, Kind::kForward, 2);
  list.insert(list.begin() + static_cast<long>(forward), list[forward]);
  expect_problem(plan, "done before");
}

TEST(PipelineCheck, AMissingOp) {
  Plan plan = plan_of("zero-bubble");
  OpList& list = plan.devices[1];
  list.erase(list.begin() + static_cast<long>(place_of(plan, 1, Kind::kWeightGradient, 3)));
  expect_problem(plan, "batch 0 is not complete");
}

TEST(PipelineCheck, AnUpdateThatComesTooEarlyOrNotAtAll) {
  Plan plan = plan_of("dapple");
  OpList& list = plan.devices[3];
  const size_t update = place_of(plan, 3, Kind::kOptimizer, -1);
  std::swap(list[update], list[update - 2]);  // before the last backward pass
  expect_problem(plan, "something of the batch is still to come");
  Plan other = plan_of("dapple");
  other.devices[3].erase(other.devices[3].begin() + static_cast<long>(update));
  expect_problem(other, "batch 0 never updates stage 3");
  expect_problem(other, "the batch before has not updated the stage yet");
}

// GPipe's lists are executable, but keep more than 1F1B promises.
TEST(PipelineCheck, AStashBeyondTheBound) {
  Plan plan = plan_of("gpipe");
  plan.placement.schedule = "dapple";
  expect_problem(plan, "device 3: activations of 4 micro-batches at once; dapple keeps at most 1");
}

TEST(PipelineCheck, ABackwardPassBeforeItsForwardPass) {
  Plan plan = plan_of("gpipe");
  OpList& list = plan.devices[3];
  std::swap(list[place_of(plan, 3, Kind::kForward, 3)],
            list[place_of(plan, 3, Kind::kBackward, 3)]);
  expect_problem(plan, "its forward pass is not done yet");
}

TEST(PipelineCheck, NumbersOutOfRange) {
  const auto broken = [](auto change) {
    Plan plan = plan_of("gpipe");
    change(plan.devices[1][place_of(plan, 1, Kind::kForward, 1)]);
    return plan;
  };
  expect_problem(broken([](Op& op) { op.stage = 7; }), "there are 4 stages");
  expect_problem(broken([](Op& op) { op.stage = 2; }), "the stage is on device 2");
  expect_problem(broken([](Op& op) { op.micro = 9; }), "no such micro-batch");
  expect_problem(broken([](Op& op) { op.batch = 6; }), "there are 6 batches");
  expect_problem(broken([](Op& op) { op.phase = Phase::kPredict; }), "of the other phase");
}

// What executors rely on.
TEST(PipelineCheck, BatchListsHaveTheirMessagesBesideTheOps) {
  for (const Schedule& schedule : schedules()) {
    Request request;
    request.schedule = schedule.name;
    const Placement placement = make_placement(request);
    for (int device = 0; device < placement.devices; ++device) {
      for (const Phase phase : {Phase::kBackprop, Phase::kPredict}) {
        const OpList ops = batch_ops(placement, device, phase);
        for (size_t i = 0; i < ops.size(); ++i) {
          if (ops[i].kind != Kind::kSend && ops[i].kind != Kind::kReceive) continue;
          const Op& beside = ops[i].kind == Kind::kSend ? ops[i - 1] : ops[i + 1];
          EXPECT_EQ(beside.stage, ops[i].stage);
          EXPECT_EQ(beside.micro, ops[i].micro);
          EXPECT_EQ(ops[i].gradient, beside.kind != Kind::kForward);
          EXPECT_TRUE(phase == Phase::kBackprop || !ops[i].gradient);
        }
        EXPECT_EQ(ops.back().kind,
                  phase == Phase::kBackprop ? Kind::kOptimizer : Kind::kPredictUpdate);
      }
    }
  }
}

}  // namespace
}  // namespace adagp::pipeline

// Does the checker pass every schedule and reject lists that are broken by hand?

#include <algorithm>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "unit/pipeline/check.h"

namespace adagp::pipeline {
namespace {

OpLists op_lists_of(const std::string& schedule, int devices = 4, int micro_batches = 4,
                    int chunks = 1, bool overlap = true) {
  Request request;
  request.schedule = schedule;
  request.devices = devices;
  request.micro_batches = micro_batches;
  request.chunks = chunks;
  request.overlap = overlap;
  request.phases = {Phase::kBackprop, Phase::kPredict, Phase::kPredict, Phase::kBackprop,
                    Phase::kBackprop, Phase::kPredict, Phase::kLowRes,  Phase::kBackprop,
                    Phase::kLowRes,   Phase::kLowRes};
  return make_op_lists(request);
}

std::string found_in(const OpLists& op_lists) {
  return core::join(problems(op_lists), "\n");
}

// The place of the first op like this on a device.
size_t place_of(const OpLists& op_lists, size_t device, Kind kind, int micro,
                bool gradient = false) {
  const OpList& list = op_lists.devices[device];
  const auto found = std::find_if(list.begin(), list.end(), [&](const Op& op) {
    return op.kind == kind && op.micro == micro && op.gradient == gradient;
  });
  EXPECT_NE(found, list.end());
  return static_cast<size_t>(found - list.begin());
}

void expect_problem(const OpLists& op_lists, const std::string& text) {
  EXPECT_NE(found_in(op_lists).find(text), std::string::npos) << "found: " << found_in(op_lists);
  EXPECT_THROW(check(op_lists), Error);
}

TEST(PipelineCheck, EverySchedulePasses) {
  for (const Schedule& schedule : schedules()) {
    for (const int devices : {1, 2, 3, 4, 6, 8}) {
      for (const int micro : {1, 2, 4, 7, 8, 12, 24}) {
        for (const int chunks : {1, 2, 3}) {
          for (const bool overlap : {true, false}) {
            OpLists op_lists;
            try {
              op_lists = op_lists_of(schedule.name, devices, micro, chunks, overlap);
            } catch (const UsageError&) {
              continue;
            }
            EXPECT_EQ(found_in(op_lists), "")
                << schedule.name << " " << devices << " x " << micro << ", " << chunks;
          }
        }
      }
    }
  }
}

TEST(PipelineCheck, AMissingReceive) {
  OpLists op_lists = op_lists_of("dapple");
  OpList& list = op_lists.devices[2];
  list.erase(list.begin() + static_cast<long>(place_of(op_lists, 2, Kind::kReceive, 1)));
  expect_problem(op_lists, "its input has not come yet");
  expect_problem(op_lists, "1 sends and 0 receives");
}

TEST(PipelineCheck, AMissingSend) {
  OpLists op_lists = op_lists_of("gpipe");
  OpList& list = op_lists.devices[2];
  list.erase(list.begin() + static_cast<long>(place_of(op_lists, 2, Kind::kSend, 1, true)));
  expect_problem(op_lists, "0 sends and 1 receives");
  expect_problem(op_lists, "deadlock");
}

// The first stage wants its first gradient before it has sent the last activations, the second
// stage the other way round.
TEST(PipelineCheck, AnOrderThatDeadlocks) {
  OpLists op_lists = op_lists_of("gpipe", 2, 2);
  OpList& list = op_lists.devices[0];
  const size_t receive = place_of(op_lists, 0, Kind::kReceive, 1, true);
  const Op op = list[receive];
  list.erase(list.begin() + static_cast<long>(receive));
  list.insert(list.begin(), op);
  expect_problem(op_lists, "deadlock: device 0 waits at its op 0, receive of a gradient");
  EXPECT_EQ(problems(op_lists).size(), 1U) << found_in(op_lists);  // nothing else is wrong with it
}

TEST(PipelineCheck, PartnersThatMeetInDifferentOrders) {
  OpLists op_lists = op_lists_of("chimera");
  OpList& list = op_lists.devices[0];
  const size_t first = place_of(op_lists, 0, Kind::kAllReduce, -1);
  std::swap(list[first], list[first + 1]);
  expect_problem(op_lists, "deadlock");
}

TEST(PipelineCheck, ADuplicatedOp) {
  OpLists op_lists = op_lists_of("zero-bubble");
  OpList& list = op_lists.devices[1];
  const size_t forward = place_of(op_lists, 1, Kind::kForward, 2);
  list.insert(list.begin() + static_cast<long>(forward), list[forward]);
  expect_problem(op_lists, "done before");
}

TEST(PipelineCheck, AMissingOp) {
  OpLists op_lists = op_lists_of("zero-bubble");
  OpList& list = op_lists.devices[1];
  list.erase(list.begin() + static_cast<long>(place_of(op_lists, 1, Kind::kWeightGradient, 3)));
  expect_problem(op_lists, "batch 0 is not complete");
}

TEST(PipelineCheck, AnUpdateThatComesTooEarlyOrNotAtAll) {
  OpLists op_lists = op_lists_of("dapple");
  OpList& list = op_lists.devices[3];
  const size_t update = place_of(op_lists, 3, Kind::kOptimizer, -1);
  std::swap(list[update], list[update - 2]);  // before the last backward pass
  expect_problem(op_lists, "something of the batch is still to come");
  OpLists other = op_lists_of("dapple");
  other.devices[3].erase(other.devices[3].begin() + static_cast<long>(update));
  expect_problem(other, "batch 0 never updates stage 3");
  expect_problem(other, "the batch before has not updated the stage yet");
}

// A pair of batches starts from the same weights, but its updates keep their order.
TEST(PipelineCheck, UpdatesOfAPairInTheWrongOrder) {
  OpLists op_lists = op_lists_of("filled");
  OpList& list = op_lists.devices[1];
  const auto update_of = [&](int batch) {
    const auto found = std::find_if(list.begin(), list.end(), [&](const Op& op) {
      return op.kind == Kind::kOptimizer && op.batch == batch;
    });
    return static_cast<size_t>(found - list.begin());
  };
  const size_t low = update_of(6), bp = update_of(7);
  ASSERT_EQ(bp, low + 1);
  std::swap(list[low], list[bp]);
  expect_problem(op_lists, "batch 7): the batch before has not updated the stage yet");
}

// GPipe's lists are executable, but keep more than 1F1B promises.
TEST(PipelineCheck, AStashBeyondTheBound) {
  OpLists op_lists = op_lists_of("gpipe");
  op_lists.placement.schedule = "dapple";
  expect_problem(op_lists,
                 "device 3: activations of 4 micro-batches at once; dapple keeps at most 1");
}

TEST(PipelineCheck, ABackwardPassBeforeItsForwardPass) {
  OpLists op_lists = op_lists_of("gpipe");
  OpList& list = op_lists.devices[3];
  std::swap(list[place_of(op_lists, 3, Kind::kForward, 3)],
            list[place_of(op_lists, 3, Kind::kBackward, 3)]);
  expect_problem(op_lists, "its forward pass is not done yet");
}

TEST(PipelineCheck, NumbersOutOfRange) {
  const auto broken = [](auto change) {
    OpLists op_lists = op_lists_of("gpipe");
    change(op_lists.devices[1][place_of(op_lists, 1, Kind::kForward, 1)]);
    return op_lists;
  };
  expect_problem(broken([](Op& op) { op.stage = 7; }), "there are 4 stages");
  expect_problem(broken([](Op& op) { op.stage = 2; }), "the stage is on device 2");
  expect_problem(broken([](Op& op) { op.micro = 9; }), "no such micro-batch");
  expect_problem(broken([](Op& op) { op.batch = 10; }), "there are 10 batches");
  expect_problem(broken([](Op& op) { op.phase = Phase::kPredict; }), "of the other phase");
}

// What executors rely on.
TEST(PipelineCheck, BatchListsHaveTheirMessagesBesideTheOps) {
  for (const Schedule& schedule : schedules()) {
    Request request;
    request.schedule = schedule.name;
    request.micro_batches = 8;
    const Placement placement = make_placement(request);
    for (int device = 0; device < placement.devices; ++device) {
      for (const Phase phase : {Phase::kBackprop, Phase::kPredict, Phase::kLowRes}) {
        const OpList ops = batch_ops(placement, device, phase);
        for (size_t i = 0; i < ops.size(); ++i) {
          if (ops[i].kind != Kind::kSend && ops[i].kind != Kind::kReceive) continue;
          const Op& beside = ops[i].kind == Kind::kSend ? ops[i - 1] : ops[i + 1];
          EXPECT_EQ(beside.stage, ops[i].stage);
          EXPECT_EQ(beside.micro, ops[i].micro);
          EXPECT_EQ(ops[i].gradient, beside.kind != Kind::kForward);
          EXPECT_TRUE(phase != Phase::kPredict || !ops[i].gradient);
        }
        EXPECT_EQ(ops.back().kind,
                  phase == Phase::kPredict ? Kind::kPredictUpdate : Kind::kOptimizer);
      }
    }
  }
}

}  // namespace
}  // namespace adagp::pipeline

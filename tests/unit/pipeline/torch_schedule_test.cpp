// Is PyTorch's CSV read and written as it is meant, and refused where it is broken?

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/sim/pipeline/simulate.h"
#include "adagp/sim/pipeline/torch_schedule.h"
#include "unit/pipeline/check.h"

namespace adagp::pipeline {
namespace {

double makespan(const Placement& placement, const char* phases) {
  return simulate(placement, uniform_costs(placement, {}), parse_phases(phases)).makespan;
}

TEST(TorchSchedule, OurSchedulesComeBackAsTheyWere) {
  for (const Schedule& schedule : schedules()) {
    Request request;
    request.schedule = schedule.name;
    request.micro_batches = 8;
    const Placement placement = make_placement(request);
    if (placement.replicas > 1) {
      EXPECT_THROW(torch_schedule(placement), UsageError);
      continue;
    }
    Request read = parse_torch_schedule(torch_schedule(placement), "file.csv");
    const Placement again = make_placement(read);
    EXPECT_EQ(again.devices, 4);
    EXPECT_EQ(again.stages, placement.stages);
    EXPECT_EQ(again.micro_batches, 8);
    for (int stage = 0; stage < placement.stages; ++stage) {
      EXPECT_EQ(again.device_of(stage, 0), placement.device_of(stage, 0));
    }
    for (int d = 0; d < placement.devices; ++d) {
      EXPECT_EQ(batch_ops(again, d, Phase::kBackprop), batch_ops(placement, d, Phase::kBackprop))
          << schedule.name << " " << d;
      EXPECT_LE(schedule_of(again).stash_bound(again, d), schedule.stash_bound(placement, d));
    }
    EXPECT_EQ(makespan(again, "bp"), makespan(placement, "bp"));
    read.phases = {Phase::kPredict, Phase::kBackprop, Phase::kPredict};
    EXPECT_TRUE(problems(make_op_lists(read)).empty()) << schedule.name;
  }
}

TEST(TorchSchedule, WhatPyTorchWrites) {
  // With bubbles as empty cells, pairs, the reduction of gradients, and Windows' ends of lines.
  const Request read = parse_torch_schedule(
      "0F0,0F1,,(0F2;0B0)OVERLAP_F_B,0I1,0W1,0B2,0REDUCE_GRAD\r\n"
      ",1F0,1B0,1F1,1B1,1F2,1B2,,\r\n",
      "f");
  EXPECT_EQ(torch_schedule(make_placement(read)),
            "0F0,0F1,0F2,0B0,0I1,0W1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
  EXPECT_EQ(read.micro_batches, 3);
  // A GP batch has the forward passes: 3 + 1 steps; twice the batch is the order twice.
  EXPECT_DOUBLE_EQ(makespan(make_placement(read), "gp"), 4);
  Placement twice = make_placement(read);
  twice.micro_batches = 6;
  EXPECT_EQ(torch_schedule(twice).substr(0, 40), "0F0,0F1,0F2,0B0,0I1,0W1,0B2,0F3,0F4,0F5,");
}

TEST(TorchSchedule, BrokenFilesAreRefusedInOneLine) {
  const auto refused = [](const std::string& text, const std::string& expected) {
    try {
      parse_torch_schedule(text, "f.csv");
      ADD_FAILURE() << "taken: " << text;
    } catch (const DataError& error) {
      const std::string said = error.what();
      EXPECT_TRUE(said.starts_with("f.csv: ")) << said;
      EXPECT_NE(said.find(expected), std::string::npos) << said;
      EXPECT_EQ(said.find('\n'), std::string::npos) << said;
      EXPECT_LT(said.size(), 250U) << said;
    }
  };
  refused("", "no passes");
  refused(",,\n", "no passes");
  refused("0F0,0X0\n", "line 1: '0X0', expected a stage");
  refused("0F0,0B0,0SEND_F0\n", "'0SEND_F0'");
  refused("0F0,0B\n", "'0B'");
  refused("0F0,-1B0\n", "'-1B0'");
  refused("0F0,0B99999999999999999999\n", "micro-batch below 65536");
  refused("0F0,4096B0\n", "stage below 4096");
  refused("(0F0;0B0\n", "'(0F0;0B0'");
  refused("(0F0;(0B0)OVERLAP_F_B\n", "'(0B0'");
  refused("0F0," + std::string(5000, '7') + "\n", "'7777");
  refused("0F0,0B0,0B0\n", "backward, stage 0, micro-batch 0, batch 0: twice");
  refused("0B0,0F0\n", "before what it needs");
  refused("0F0,0W0,0I0\n", "before what it needs");
  refused("0F0,0I0\n", "no whole forward and backward pass");
  refused("0F0,0B0,0F1\n", "stage 0, micro-batch 1");
  refused("0F0,0B0\n2F0,2B0\n", "no pass of stage 1");
  refused("0F0,0B0\n0F1,0B1\n", "stage 0 on the devices 0 and 1");
  refused("0F0,1F0,1B0,0B0\n2F0,2B0\n", "device 1 has 1 stages, device 0 has 2");
  refused("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n", "deadlock: device 0 waits");
  refused("0F65535,0B65535\n", "no whole forward");
  refused("4095F65535,4095B65535\n", "no pass of stage 0");
}

}  // namespace
}  // namespace adagp::pipeline

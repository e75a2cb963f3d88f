// Does counting steps give the published numbers and the closed forms? F = 1, B = 2.

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/sim/pipeline/simulate.h"
#include "unit/pipeline/check.h"

namespace adagp::pipeline {
namespace {

Placement placement_of(const std::string& schedule, int devices, int micro_batches,
                       int chunks = 1) {
  Request request;
  request.schedule = schedule;
  request.devices = devices;
  request.micro_batches = micro_batches;
  request.chunks = chunks;
  return make_placement(request);
}

double steps(const Placement& placement, const std::string& phases, int64_t batches = 0,
             StageCost cost = {}, bool overlap = true) {
  Sequence sequence = parse_phases(phases);
  if (batches > 0) sequence.batches = batches;
  SimulateOptions options;
  options.overlap = overlap;
  return simulate(placement, uniform_costs(placement, cost), sequence, options).makespan;
}

double steady(const Placement& placement, const std::string& phases, bool overlap = true) {
  return steady_time(placement, uniform_costs(placement, {}), parse_phases(phases).cycle, overlap);
}

TEST(PipelineSteps, PublishedCountsOfOneBatch) {
  EXPECT_DOUBLE_EQ(steps(placement_of("gpipe", 4, 4), "bp"), 21);
  EXPECT_DOUBLE_EQ(steps(placement_of("dapple", 4, 4), "bp"), 21);
  EXPECT_DOUBLE_EQ(steps(placement_of("chimera", 4, 4), "bp"), 16);
}

TEST(PipelineSteps, PublishedCountsOfAPredictedAndABackpropagatedBatch) {
  EXPECT_DOUBLE_EQ(steps(placement_of("gpipe", 4, 4), "gp-bp"), 25);
  EXPECT_DOUBLE_EQ(steps(placement_of("dapple", 4, 4), "gp-bp"), 25);
  EXPECT_DOUBLE_EQ(steps(placement_of("chimera", 4, 4), "gp-bp"), 20);
}

// 21 + 21 against 25, and 16 + 16 against 20, without end.
TEST(PipelineSteps, PublishedLimits) {
  for (const auto& [name, bp, both] :
       {std::tuple{"gpipe", 42.0, 25.0}, {"dapple", 42.0, 25.0}, {"chimera", 32.0, 20.0}}) {
    const Placement placement = placement_of(name, 4, 4);
    EXPECT_DOUBLE_EQ(2 * steady(placement, "bp"), bp) << name;
    EXPECT_DOUBLE_EQ(steady(placement, "gp-bp"), both) << name;
    EXPECT_DOUBLE_EQ(steps(placement, "bp", 200), 100 * bp) << name;
    EXPECT_DOUBLE_EQ(steps(placement, "gp-bp", 200), 100 * both) << name;
  }
}

// N batches of K modules take N + K - 1 ticks of a forward and a backward pass: the modules fill
// once and then never wait. A stage's list is what the rule of its ticks says.
TEST(PipelineSteps, DecoupledModulesNeverWait) {
  for (const int modules : {1, 2, 3, 4, 8}) {
    for (const int batches : {1, 2, 3, 7, 64}) {
      const Placement placement = placement_of("decoupled", modules, batches);
      EXPECT_DOUBLE_EQ(steps(placement, "bp"), 3 * (batches + modules - 1))
          << modules << " modules, " << batches << " batches";
      for (int k = 0; k < modules; ++k) {
        std::vector<std::pair<bool, int>> expected, found;  // forward?, batch
        for (int tick = 0; tick < batches + 2 * modules; ++tick) {
          const int forward = tick - k, backward = tick - (2 * (modules - 1) - k);
          if (forward >= 0 && forward < batches) expected.emplace_back(true, forward);
          if (backward >= 0 && backward < batches) expected.emplace_back(false, backward);
        }
        for (const Op& op : batch_ops(placement, k, Phase::kBackprop)) {
          if (op.kind == Kind::kForward || op.kind == Kind::kBackward) {
            found.emplace_back(op.kind == Kind::kForward, op.micro);
          }
        }
        EXPECT_EQ(found, expected) << "module " << k << " of " << modules;
      }
    }
  }
}

TEST(PipelineSteps, PredictedBatchesStreamAfterTheFill) {
  for (const char* name : {"gpipe", "dapple", "zero-bubble", "interleaved"}) {
    for (const int batches : {1, 2, 5, 1000}) {
      EXPECT_DOUBLE_EQ(steps(placement_of(name, 4, 4), "gp", batches), 3 + 4 * batches) << name;
    }
  }
  // Chimera's devices have work of their own at once, so that its fill is a step shorter.
  for (const int batches : {1, 2, 5, 1000}) {
    EXPECT_DOUBLE_EQ(steps(placement_of("chimera", 4, 4), "gp", batches), 2 + 4 * batches);
  }
  // Batch by batch a device waits for the other direction: 3 + 2 + what alternation costs.
  EXPECT_DOUBLE_EQ(steady(placement_of("chimera", 4, 4), "gp", false), 6);
}

TEST(PipelineSteps, ClosedFormOfGPipeAndDapple) {
  for (const char* name : {"gpipe", "dapple"}) {
    for (int devices = 1; devices <= 9; ++devices) {
      for (int micro = 1; micro <= 20; ++micro) {
        for (const auto& [forward, backward] : {std::pair{1.0, 2.0}, {1.0, 1.0}, {3.0, 1.0}}) {
          StageCost cost;
          cost.forward = forward;
          cost.backward = backward;
          EXPECT_DOUBLE_EQ(steps(placement_of(name, devices, micro), "bp", 1, cost),
                           (micro + devices - 1) * (forward + backward))
              << name << " " << devices << " x " << micro << " F " << forward << " B " << backward;
        }
      }
    }
  }
}

// N = D: 3 D of work and 2 (D - 2) of bubbles.
TEST(PipelineSteps, ChimeraWithAsManyMicroBatchesAsStages) {
  for (const int devices : {2, 4, 6, 8, 10, 32}) {
    EXPECT_DOUBLE_EQ(steps(placement_of("chimera", devices, devices), "bp"),
                     3 * devices + 2 * (devices - 2))
        << devices;
  }
  EXPECT_DOUBLE_EQ(steps(placement_of("chimera", 6, 6), "bp"), 26);
  EXPECT_DOUBLE_EQ(steps(placement_of("chimera", 8, 8), "bp"), 36);
}

// N (F + I + W) + (D - 1) (F + I - W).
TEST(PipelineSteps, ZeroBubble) {
  EXPECT_DOUBLE_EQ(steps(placement_of("zero-bubble", 4, 4), "bp"), 15);
  for (int devices = 1; devices <= 8; ++devices) {
    for (int micro = devices; micro <= 24; ++micro) {
      EXPECT_DOUBLE_EQ(steps(placement_of("zero-bubble", devices, micro), "bp"),
                       3 * micro + devices - 1)
          << devices << " x " << micro;
    }
  }
}

// The bubble of 1F1B, (D - 1)(F + B), shrinks by the number of chunks.
TEST(PipelineSteps, Interleaved) {
  for (const int devices : {1, 2, 3, 4, 8}) {
    for (const int chunks : {1, 2, 3, 4}) {
      for (const int rounds : {1, 2, 5}) {
        const Placement placement = placement_of("interleaved", devices, devices * rounds, chunks);
        EXPECT_NEAR(steps(placement, "bp"), 3.0 * devices * rounds + 3.0 * (devices - 1) / chunks,
                    1e-9)  // thirds do not add up exactly
            << devices << " x " << devices * rounds << ", " << chunks << " chunks";
      }
    }
  }
}

TEST(PipelineSteps, WhatASchedulesCannotDoIsRefusedWithTheNumbers) {
  const auto refused = [](const char* name, int devices, int micro, int chunks,
                          const std::string& expected) {
    try {
      placement_of(name, devices, micro, chunks);
      ADD_FAILURE() << name << " took it";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  };
  refused("chimera", 5, 5, 1, "5 stages");
  refused("chimera", 4, 6, 1, "6 micro-batches on 4 stages");
  refused("interleaved", 4, 6, 2, "6 micro-batches on 4 devices");
  refused("gpipe", 4, 4, 2, "2 chunks");
  refused("gpipe", 0, 4, 1, "0 stages");
  refused("gpipe", 4, 0, 1, "0 micro-batches");
  refused("gpipe", 4096, 65536, 1, "4096 stages x 65536 micro-batches");
  refused("gpip", 4, 4, 1, "did you mean 'gpipe'");
}

TEST(PipelineSteps, PhasesAsText) {
  EXPECT_EQ(phases_text(parse_phases("gp*4-bp").cycle), "gp*4-bp");
  EXPECT_EQ(parse_phases("gp-gp-bp").cycle.size(), 3U);
  for (const char* bad : {"", "xp", "gp-", "gp*0", "gp*x", "gp*2*2", "gp*10001"}) {
    EXPECT_THROW(parse_phases(bad), UsageError) << bad;
  }
}

}  // namespace
}  // namespace adagp::pipeline

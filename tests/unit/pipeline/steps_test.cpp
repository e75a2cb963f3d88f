// Does counting steps give the published numbers and the closed forms? F = 1, B = 2.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
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
  for (const char* name : {"gpipe", "dapple", "zero-bubble", "interleaved", "filled"}) {
    for (const int batches : {1, 2, 5, 1000}) {
      EXPECT_DOUBLE_EQ(steps(placement_of(name, 4, 4), "gp", batches), 3 + 4 * batches) << name;
    }
  }
  // Two stages of half the work: N + D - 1 again, also where a micro-batch comes back to a device
  // while the next batch has begun.
  for (const int batches : {1, 2, 5, 1000}) {
    EXPECT_DOUBLE_EQ(steps(placement_of("zb-v", 4, 4, 2), "gp", batches), 3 + 4 * batches);
    EXPECT_DOUBLE_EQ(steps(placement_of("zb-v", 4, 1, 2), "gp", batches), 3 + batches);
    EXPECT_DOUBLE_EQ(steps(placement_of("dualpipe-v", 2, 4, 2), "gp", batches), 1 + 4 * batches);
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

// Published for F = I = W, here half a step each: a device works without a pause (6 N passes), the
// last one begins D - 1 passes after the first. It keeps what 1F1B's first device keeps: D stages,
// 2 D halves.
TEST(PipelineSteps, ZbVHasNoBubblesWithinABatch) {
  for (int devices = 1; devices <= 8; ++devices) {
    for (int micro = 2 * devices - 1; micro <= 5 * devices; ++micro) {
      const Placement placement = placement_of("zb-v", devices, micro, 2);
      std::vector<double> first(static_cast<size_t>(devices), -1), last(first);
      SimulateOptions options;
      options.on_event = [&](const Event& event) {
        if (event.op.micro < 0) return;
        const auto d = static_cast<size_t>(event.device);
        if (first[d] < 0) first[d] = event.start;
        last[d] = event.end;
      };
      const Result result = simulate(placement, uniform_costs(placement, {}), {}, options);
      EXPECT_DOUBLE_EQ(result.makespan, 3 * micro + (devices - 1) / 2.0) << devices << " " << micro;
      for (size_t d = 0; d < first.size(); ++d) {
        EXPECT_DOUBLE_EQ(last[d] - first[d], 3 * micro) << devices << " " << micro << " " << d;
        EXPECT_EQ(result.peak_stash[d], micro == 1 ? 2 : 2 * devices);
      }
    }
  }
}

// Published: (D - 1)(F&B + B - 3 W) with F&B for a forward and a backward pass that hide each
// other. One after the other, a forward pass is done before its backward pass, and (D - 1)(F + I -
// W) are left where F = I. Activations: 2 D + 1 halves.
TEST(PipelineSteps, DualPipeV) {
  for (int devices = 1; devices <= 8; ++devices) {
    for (const int micro : {2 * devices, 2 * devices + 1, 3 * devices + 2, 6 * devices}) {
      const Placement placement = placement_of("dualpipe-v", devices, micro, 2);
      for (const auto& [pass, weight] : {std::pair{1.0, 1.0}, {2.0, 1.0}, {3.0, 2.0}}) {
        StageCost cost;
        cost.forward = cost.input_gradient = pass;
        cost.weight_gradient = weight;
        cost.backward = pass + weight;
        const Costs costs{std::vector<StageCost>(static_cast<size_t>(placement.stages), cost)};
        const Result result = simulate(placement, costs, {});
        EXPECT_DOUBLE_EQ(result.makespan,
                         2 * micro * (2 * pass + weight) + (devices - 1) * (2 * pass - weight))
            << devices << " " << micro << " " << pass << " " << weight;
        for (const int stash : result.peak_stash) EXPECT_EQ(stash, 2 * devices + 1);
      }
    }
  }
}

// A BP batch after a GP batch begins before the GP batch has come back to the first device.
TEST(PipelineSteps, PhasesOfSchedulesInAV) {
  for (const int devices : {2, 4, 8}) {
    const int micro = 2 * devices;
    EXPECT_LT(steps(placement_of("zb-v", devices, micro, 2), "gp-bp"),
              steps(placement_of("zb-v", devices, micro, 2), "gp-bp", 0, {}, false));
    EXPECT_DOUBLE_EQ(steps(placement_of("zb-v", devices, micro, 2), "gp-bp"),
                     4 * micro + devices - 1);
  }
}

// With as many micro-batches as devices a whole GP batch takes no time; the bubbles of 1F1B hold
// four thirds of D - 1 forward passes that go through all devices in order.
TEST(PipelineSteps, FilledBubblesHoldForwardPasses) {
  for (const auto& [devices, free] : {std::pair{4, 4}, {8, 10}, {16, 20}, {32, 42}, {64, 84}}) {
    EXPECT_EQ(free, static_cast<int>(std::ceil(2.0 * (devices - 1) / 3)) * 2);
    for (const int micro : {devices, 2 * devices, 4 * devices}) {
      const Placement placement = placement_of("filled", devices, micro);
      const double bp = 3 * (micro + devices - 1);
      EXPECT_DOUBLE_EQ(steps(placement, "bp"), bp);
      EXPECT_DOUBLE_EQ(steps(placement, "gp-bp"), bp + std::max(0, micro - free)) << devices;
      EXPECT_DOUBLE_EQ(steady(placement, "gp-bp"), bp + std::max(0, micro - free)) << devices;
      // A GP batch before another one has no bubbles to go to.
      EXPECT_DOUBLE_EQ(steps(placement, "gp*3-bp"), bp + std::max(0, micro - free) + 2 * micro);
    }
  }
}

TEST(PipelineSteps, SmallerImagesOfGPBatches) {
  Request request;
  request.gp_share = 0.25;
  request.schedule = "gpipe";
  EXPECT_DOUBLE_EQ(steps(make_placement(request), "gp"), 7 * 0.25);
  EXPECT_DOUBLE_EQ(steps(make_placement(request), "bp"), 21);
  request.schedule = "filled";
  for (const int devices : {4, 8, 16, 32, 64}) {
    request.devices = devices;
    request.micro_batches = 4 * devices;
    EXPECT_DOUBLE_EQ(steps(make_placement(request), "gp-bp"), 3 * (5 * devices - 1)) << devices;
  }
}

Placement with_low_share(const std::string& schedule, int devices, int micro, double share) {
  Request request;
  request.schedule = schedule;
  request.devices = devices;
  request.micro_batches = micro;
  request.low_share = share;
  return make_placement(request);
}

TEST(PipelineSteps, LowResolutionBatchesAreShorterBPBatches) {
  for (const char* name : {"gpipe", "dapple", "zero-bubble", "chimera", "filled"}) {
    const Placement placement = with_low_share(name, 4, 4, 0.25);
    EXPECT_DOUBLE_EQ(steps(placement, "low"), steps(placement, "bp") / 4) << name;
    EXPECT_DOUBLE_EQ(steps(placement, "low*3"), 3 * steps(placement, "low")) << name;
  }
}

// As many micro-batches of a low-resolution batch as the last device takes backward (share x B
// each) between the forward passes of the last of them and of the BP batch.
int ahead_of_bp(int devices, double share) {
  return static_cast<int>((devices - 1) * (1 - share) / (2 * share) + 1e-9);
}

// Of these only the forward pass of the first device takes time, of each other one the backward
// pass.
TEST(PipelineSteps, FilledBubblesHoldMostOfALowResolutionBatch) {
  for (const char* name : {"filled", "filled-gpipe"}) {
    for (const double share : {0.0625, 0.25, 0.5625, 1.0}) {
      for (const int devices : {2, 3, 4, 7, 8, 16, 64}) {
        for (const int micro : {1, devices / 2, devices, 2 * devices}) {
          const Placement placement = with_low_share(name, devices, micro, share);
          const double bp = steps(placement, "bp"), extra = steps(placement, "low-bp") - bp;
          const int ahead = std::min(micro, ahead_of_bp(devices, share));
          const double least = share * ahead + 2 * share * (micro - ahead);
          const std::string what = core::cat(name, " ", devices, " x ", micro, ", ", share);
          EXPECT_GE(extra, least - 1e-9) << what;
          EXPECT_LE(extra, steps(placement, "low") + 1e-9) << what;
          if (ahead == micro || (share == 0.25 && std::string(name) == "filled")) {
            EXPECT_NEAR(extra, least, 1e-9) << what;
          }
          if (devices <= 8) {
            EXPECT_NEAR(steady(placement, "low-bp"), bp + extra, 1e-9) << what;
          }
        }
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
  refused("zb-v", 4, 8, 3, "3 chunks; expected 2");
  refused("dualpipe-v", 4, 7, 2, "7 micro-batches on 4 devices; expected at least 8");
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

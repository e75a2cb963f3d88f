// What holds whatever is measured: the share of trials, the distance of changes, the largest k.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "adagp/rivals/method/controller.h"
#include "unit/rivals/scripted_training.h"

namespace adagp::method {
namespace {

TEST(ControllerBounds, TheShareOfUselessTrialsHoldsAtEveryBatch) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    RandomRun run(seed);
    Controller controller(run.options);
    // Counted here from the windows alone: a candidate's are those of a round that are neither
    // plain backprop nor what is in use; a round that adopts gives its own back.
    int64_t batches = 0, spent = 0, round = 0, trials = 0;
    bool turned = false;
    while (batches < 20000) {
      if (batches > 10000 && !turned) {
        run.turn();
        turned = true;
      }
      const Window w = controller.window();
      const bool used = w.step == controller.step() && w.k == controller.k();
      const bool candidate = w.measured && w.k > 0 && !used;
      for (int64_t i = 0; i < w.batches; ++i) {
        ++batches;
        if (candidate) ++round;
        ASSERT_LE(static_cast<double>(spent + round),
                  run.options.probe_share * static_cast<double>(batches))
            << "seed " << seed << ", batch " << batches;
      }
      for (const Decision& d : run.training.next(controller)) {
        if (d.what != "adopt" && d.what != "raise") spent += round;
        round = 0;
        ++trials;
      }
    }
    EXPECT_GT(trials, 0) << "seed " << seed;
  }
}

TEST(ControllerBounds, ChangesAreAWholeRoundApartAndOnlyDecisionsMakeThem) {
  int64_t all = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    RandomRun run(seed);
    Controller controller(run.options);
    const int64_t round = 2 * run.options.pairs * run.options.window;
    int64_t changed = 0;
    for (int half = 0; half < 2; ++half) {
      if (half == 1) run.turn();
      while (run.training.batches < (half + 1) * 15000) {
        const int64_t step = controller.step(), k = controller.k();
        const auto decided = run.training.next(controller);
        const bool moved = step != controller.step() || k != controller.k();
        ASSERT_EQ(moved, !decided.empty() && changes(decided[0]));
        ASSERT_LE(decided.size(), 1U);
        if (!moved) continue;
        ASSERT_EQ(decided[0].batch, run.training.batches);
        ASSERT_GE(run.training.batches - changed, round) << "seed " << seed;
        ASSERT_LE(controller.k(), run.options.most);
        changed = run.training.batches;
        ++all;
      }
    }
  }
  EXPECT_GT(all, 100);
}

TEST(ControllerBounds, KRisesToTheBestAndNotBeyond) {
  struct Case {
    CheapStep step;
    int64_t k;
  };
  // Progress per second for k = 1, 2, ...: 1.8/1.25 = 1.44, 2.5/1.5 = 1.67, 2.6/1.75 = 1.49; then
  // cheap batches as good as exact ones, 2/1.25, 3/1.5, 4/1.75, 5/2: up to the largest; then ones
  // whose second in a row spoils it: 1.44, 0.8/1.5.
  const Case cases[] = {{{0.25, {0.8, 0.7, 0.1}}, 2}, {{0.25, {1}}, 4}, {{0.25, {0.8, -1}}, 1}};
  for (const Case& one : cases) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
      ScriptedTraining training({one.step}, 2e-5, 1e-4, seed);
      ControllerOptions o;
      o.steps = {"a"};
      o.probe_share = 0.1;
      Controller controller(o);
      training.run(controller, 12000);
      EXPECT_EQ(controller.k(), one.k) << "seed " << seed;
    }
  }
}

TEST(ControllerBounds, UselessStepsCostLittleTime) {
  // Nothing is gained at any k, by steps as long as an exact batch or shorter. A reading of the
  // held-out loss takes the time of three exact batches.
  for (unsigned seed = 1; seed <= 50; ++seed) {
    ScriptedTraining training({{0.5, {0.5}}, {0.9, {0.2}}, {1, {0}}}, 0.01, 5e-4, seed);
    ControllerOptions o;
    o.steps = {"a", "b", "c"};
    Controller controller(o);
    const auto decided = training.run(controller, 6000);
    EXPECT_GT(decided.size(), 0U);
    const double reading = 3.0 * static_cast<double>(training.readings);
    const auto bp = static_cast<double>(training.batches);  // a second each
    EXPECT_LT(reading, 0.03 * (training.seconds + reading)) << "seed " << seed;
    EXPECT_LT(training.seconds + reading, 1.03 * bp) << "seed " << seed;
    EXPECT_LT(training.measured * 10, training.windows) << "seed " << seed;
  }
}

TEST(ControllerBounds, WhatNoLongerPaysIsLoweredThenDroppedThenLeftAlone) {
  ControllerOptions o;
  o.steps = {"a"};
  o.probe_share = 1;
  o.most = 2;
  Controller controller(o);
  std::vector<std::string> decided;
  std::vector<int64_t> at;
  int64_t windows = 0;
  while (decided.size() < 5) {
    const Window w = controller.window();
    // Good at first, at k = 2 the better; then neither better nor worse in every second window, and
    // in the end clearly worse.
    double rate = 1;
    if (w.k > 0) {
      if (decided.size() < 2) rate = 1 + static_cast<double>(w.k);
      if (decided.size() == 2) rate = ++windows % 2 == 0 ? 2 : 0;
      if (decided.size() > 2) rate = 0;
    }
    for (const Decision& d : controller.finish(1, rate, 0)) {
      decided.push_back(d.what + " " + std::to_string(d.tried) + " " + std::to_string(d.k));
      at.push_back(d.batch);
    }
  }
  EXPECT_EQ(decided, (std::vector<std::string>{"adopt 1 1", "raise 2 2", "lower 2 1", "drop 1 0",
                                               "reject 1 0"}));
  // A round's length of windows, then three pairs are enough; the next trial waits twice that
  // length and is as short.
  EXPECT_EQ(at[3] - at[2], 240 + 120);
  EXPECT_EQ(at[4] - at[3], 480 + 120);
}

}  // namespace
}  // namespace adagp::method

#include "adagp/rivals/method/controller.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/rivals/scripted_training.h"

namespace adagp::method {
namespace {

ControllerOptions options(std::vector<std::string> steps, double share) {
  ControllerOptions out;
  out.steps = std::move(steps);
  out.probe_share = share;
  return out;
}

// Gives windows of a round the rates it is told, a second each; others nothing.
struct Player {
  Controller& controller;
  std::vector<Decision> all{};

  void skip_to_round() {
    while (!controller.window().measured) controller.finish(1, 0, 0);
  }
  void play(double rate) {
    for (auto& d : controller.finish(1, rate, 0)) all.push_back(d);
  }
  // A whole round: bp, c, c, bp, ...
  void round(const std::vector<double>& bp, const std::vector<double>& candidate) {
    skip_to_round();
    size_t b = 0, c = 0;
    while (b + c < bp.size() + candidate.size()) {
      play(controller.window().k == 0 ? bp[b++] : candidate[c++]);
    }
  }
};

TEST(Controller, TheExactBatchIsTheLastOfEachCycle) {
  const Window window{0, 2, 6, false};
  std::string letters;
  for (int64_t i = 0; i < window.batches; ++i) letters += is_cheap(window, i) ? 'c' : 'E';
  EXPECT_EQ(letters, "ccEccE");
  EXPECT_FALSE(is_cheap({-1, 0, 20, false}, 0));
}

TEST(Controller, WithoutStepsItIsPlainBackprop) {
  Controller controller(options({}, 1));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(controller.window(), (Window{-1, 0, 20, false}));
    ASSERT_TRUE(controller.finish(1, 0, 0).empty());
  }
}

TEST(Controller, ARoundIsMirroredPairsOfWholeCycles) {
  ControllerOptions o = options({"a"}, 1);
  o.window = 7;
  o.pairs = 4;
  Controller controller(o);
  Player player{controller};
  player.skip_to_round();
  std::string order;
  for (int i = 0; i < 8; ++i) {
    const Window w = controller.window();
    EXPECT_TRUE(w.measured);
    EXPECT_EQ(w.batches, w.k == 0 ? 7 : 8);  // 8: the next multiple of a cycle of two
    order += w.k == 0 ? 'b' : 'c';
    player.play(1);
  }
  EXPECT_EQ(order, "bccbbccb");
}

TEST(Controller, NumbersOfADecisionByHand) {
  Controller controller(options({"a"}, 1));
  Player player{controller};
  // Differences 1, 2, 3, 1, 2, 3: mean 2, sd sqrt(4/5); 2.015 is the table's t for 5 and 0.95.
  player.round({5, 5, 5, 5, 5, 5}, {6, 7, 8, 6, 7, 8});
  ASSERT_EQ(player.all.size(), 1U);
  const Decision& d = player.all[0];
  EXPECT_EQ(d.what, "adopt");
  EXPECT_EQ(d.step, "a");
  EXPECT_EQ(d.k, 1);
  EXPECT_EQ(d.tried, 1);
  EXPECT_EQ(d.pairs, 6);
  EXPECT_EQ(d.batch, 240 + 240);  // a round's length of plain backprop, then the round
  EXPECT_DOUBLE_EQ(d.rate, 7);
  EXPECT_DOUBLE_EQ(d.bp_rate, 5);
  EXPECT_DOUBLE_EQ(d.advantage, 2);
  EXPECT_NEAR(d.low, 2 - 2.015 * std::sqrt(0.8 / 6), 2e-4);
  EXPECT_DOUBLE_EQ(d.seconds, 1.0 / 20);
  EXPECT_DOUBLE_EQ(d.bp_seconds, 1.0 / 20);
  EXPECT_EQ(controller.step(), 0);
  EXPECT_EQ(controller.k(), 1);
}

TEST(Controller, ATieIsNotAdoptedNorIsALinearDrift) {
  Controller tie(options({"a"}, 1));
  Player even{tie};
  even.round({3, 3, 3, 3, 3, 3}, {3, 3, 3, 3, 3, 3});
  ASSERT_EQ(even.all.size(), 1U);
  EXPECT_EQ(even.all[0].what, "reject");
  EXPECT_EQ(even.all[0].k, 0);

  // Rates that fall or rise by the same amount from window to window, whoever's they are.
  for (const double slope : {-0.25, 0.25}) {
    Controller controller(options({"a"}, 1));
    Player player{controller};
    player.skip_to_round();
    for (int i = 0; i < 12; ++i) player.play(9 + slope * i);
    ASSERT_EQ(player.all.size(), 1U);
    EXPECT_EQ(player.all[0].what, "reject");
    EXPECT_EQ(player.all[0].pairs, 6);  // nor does it look clearly worse half-way
    EXPECT_EQ(player.all[0].advantage, 0);
  }
}

TEST(Controller, ClearlyWorseEndsARoundEarlyAndWaitsDouble) {
  Controller controller(options({"a"}, 1));
  int64_t batch = 0, rejected_at = 0;
  std::vector<int64_t> waits, pairs;
  while (waits.size() < 6) {
    const Window w = controller.window();
    if (w.measured && rejected_at > 0) {
      waits.push_back(batch - rejected_at);
      rejected_at = 0;
    }
    batch += w.batches;
    for (const Decision& d : controller.finish(1, w.k > 0 ? 1 : 2, 0)) {
      EXPECT_EQ(d.what, "reject");
      EXPECT_EQ(d.batch, batch);
      EXPECT_EQ(d.pairs, 3);
      rejected_at = batch;
    }
  }
  EXPECT_EQ(waits, (std::vector<int64_t>{480, 960, 1920, 3840, 7680, 15360}));
}

TEST(Controller, PicksTheGoodStepAmongUselessAndHarmfulOnes) {
  // Per second at k = 1: equal to bp's, 1.8/1.3 = 1.38 times, half of it, and 1.5/1.4 = 1.07 times.
  const std::vector<CheapStep> steps = {{0.5, {0.5}}, {0.3, {0.8}}, {1, {0}}, {0.4, {0.5}}};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    ScriptedTraining training(steps, 4e-5, 1e-4, seed);
    ControllerOptions o = options({"useless", "good", "harmful", "fair"}, 0.2);
    o.most = 1;
    Controller controller(o);
    training.run(controller, 12000);
    EXPECT_EQ(controller.step(), 1) << "seed " << seed;
    EXPECT_EQ(controller.k(), 1) << "seed " << seed;
  }
}

TEST(Controller, ChecksGrowRarerAndAdoptionGivesItsBatchesBack) {
  ControllerOptions o = options({"a"}, 0.1);
  o.most = 2;
  Controller controller(o);
  int64_t batch = 0;
  std::vector<int64_t> starts;
  std::vector<std::string> decided;
  bool measured = false;
  while (batch < 16000) {
    const Window w = controller.window();
    if (w.measured && !measured) starts.push_back(batch);
    measured = w.measured;
    batch += w.batches;
    for (const Decision& d : controller.finish(1, 1 + static_cast<double>(w.k), 0)) {
      decided.push_back(d.what);
      measured = false;
    }
  }
  EXPECT_EQ(decided, (std::vector<std::string>{"adopt", "raise", "keep", "keep", "keep", "keep"}));
  // A window is 20 batches, at k = 2 21. The first trial: 120 of 1200 batches, 1080 after the
  // start, 240 long. Had it not got its 120 back, the next would wait for (120 + 126) / 0.1. It
  // comes after a round's length and takes 6 * (20 + 21) = 246. Checks: 4, 8, 16, 16 rounds of 240
  // later, rounded up to the window of 21.
  std::vector<int64_t> expected = {1080, 1080 + 240 + 240};
  for (const int64_t rounds : {4, 8, 16, 16}) {
    expected.push_back(expected.back() + 246 + (rounds * 240 + 20) / 21 * 21);
  }
  EXPECT_EQ(starts, expected);
}

TEST(Controller, ABetterStepReplacesTheOneInUseAndAWorseDoesNot) {
  ControllerOptions o = options({"fair", "good"}, 0.2);
  o.most = 1;
  for (const bool better_first : {false, true}) {
    const CheapStep good{0.3, {0.8}}, fair{0.4, {0.5}};
    ScriptedTraining training({fair, good}, 1e-5, 1e-4);
    if (better_first) std::swap(training.steps[0], training.steps[1]);
    Controller controller(o);
    std::vector<std::string> taken;
    for (const Decision& d : training.run(controller, 12000)) {
      if (changes(d)) taken.push_back(d.what + " " + d.step);
    }
    using Expected = std::vector<std::string>;
    EXPECT_EQ(taken,
              better_first ? Expected({"adopt fair"}) : Expected({"adopt fair", "adopt good"}));
  }
}

TEST(Controller, FallsBackWhenAGoodStepTurnsBad) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    ScriptedTraining training({{0.3, {0.8}}}, 1e-4, 1e-4, seed);
    Controller controller(options({"a"}, 0.1));
    training.run(controller, 6000);
    ASSERT_GE(controller.k(), 1) << "seed " << seed;
    training.steps[0].gains = {-0.2};
    // A check comes at the latest after 16 rounds of 240 batches, and clearly worse drops at once.
    const auto decided = training.run(controller, 6000 + 18 * 240);
    EXPECT_EQ(controller.k(), 0) << "seed " << seed;
    EXPECT_EQ(controller.step(), -1) << "seed " << seed;
    int drops = 0;
    for (const Decision& d : decided) {
      if (d.what != "drop") continue;
      ++drops;
      EXPECT_LE(d.low, 0);
    }
    EXPECT_EQ(drops, 1) << "seed " << seed;
  }
}

TEST(Controller, NeverKeepsWhatIsNotAboveBackprop) {
  // Wherever a check or a trial found a lower bound at or under zero, that (step, k) is not in use.
  ScriptedTraining training({{0.3, {0.8, 0.4, 0}}, {0.5, {0.5}}}, 2e-3);
  training.shared = false;
  Controller controller(options({"a", "b"}, 0.3));
  std::map<std::string, int> seen;
  for (const Decision& d : training.run(controller, 200000)) {
    ++seen[d.what];
    if (d.what == "adopt" || d.what == "raise" || d.what == "keep") {
      EXPECT_GT(d.low, 0);
      EXPECT_EQ(d.k, d.tried);
    } else {
      EXPECT_NE(d.k, d.tried);
    }
  }
  EXPECT_GE(seen.size(), 5U);  // the case is rich enough to mean something
}

TEST(Controller, AdoptsUselessStepsNoMoreOftenThanTheConfidenceAllows) {
  // Cheap batches of half the time and half the progress: plain backprop's rate at every k.
  // Readings are independent, so that the paired differences are too, and a round adopts by chance
  // with a probability of at most 1 - 0.95 (less what is ended early). Of R trials about 0.05 R
  // then adopt; the bound is four standard deviations of that count above.
  int64_t trials = 0, adopted = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    ScriptedTraining training({{0.5, {0.5}}, {0.5, {0.5}}}, 0.02, 5e-4, seed);
    training.shared = false;
    Controller controller(options({"a", "b"}, 0.1));
    for (const Decision& d : training.run(controller, 6000)) {
      if (d.tried != 1 || (d.what != "adopt" && d.what != "reject")) continue;
      ++trials;
      adopted += d.what == "adopt";
    }
  }
  EXPECT_GT(trials, 600);
  const double expected = 0.05 * static_cast<double>(trials);
  EXPECT_LT(static_cast<double>(adopted), expected + 4 * std::sqrt(expected * 0.95));
  EXPECT_GT(adopted, 0) << "a bound that never errs at 0.95 is not the bound it says it is";
}

TEST(Controller, NeverAdoptsWhatIsWorseByMoreThanTheNoise) {
  // No progress in half the time: 1/1.5 of plain backprop's rate. It falls from 2e-4 to 1.1e-4 a
  // second over the run, so the differences are -3.7e-5 or more; of readings with 2e-4 of noise
  // their standard error over 6 pairs is 2e-4 * sqrt(2 * (1/15^2 + 1/20^2) / 6) = 1e-5.
  int64_t trials = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    ScriptedTraining training({{0.5, {0}}, {0.5, {0}}}, 2e-4, 1e-4, seed);
    training.shared = false;
    Controller controller(options({"a", "b"}, 0.1));
    for (const Decision& d : training.run(controller, 6000)) {
      EXPECT_EQ(d.what, "reject") << "seed " << seed;
      ++trials;
    }
  }
  EXPECT_GT(trials, 600);
}

}  // namespace
}  // namespace adagp::method

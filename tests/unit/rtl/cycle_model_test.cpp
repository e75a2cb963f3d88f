// The cycle model against hand-counted programs; the RTL itself is compared by make test WHAT=rtl.
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/sim/rtl/cycle_model.h"

namespace adagp::rtl {
namespace {

Descriptor make(Op op, std::uint32_t wait = 0) {
  Descriptor d;
  d.op = static_cast<std::uint32_t>(op);
  d.mask = kEveryPhase;
  d.wait = wait;
  d.n0 = d.n1 = d.n2 = 1;
  return d;
}

Machine machine(Design design) {
  Machine m;
  m.design = design;
  m.rows = 4;
  m.cols = 5;
  m.pred_rows = 2;
  m.pred_cols = 3;
  return m;
}

TEST(CycleModel, TileLaw) {
  const Machine m = machine(Design::kMax);
  Descriptor d = make(Op::kTile);
  d.n0 = 7;
  d.n2 = 3;
  EXPECT_EQ(busy_cycles(m, d), 21u + 10 + 1);
  d.load_w = d.drain = 1;
  EXPECT_EQ(busy_cycles(m, d), 5u + 21 + 10 + 5 + 1);
  d.op = static_cast<std::uint32_t>(Op::kPtile);
  EXPECT_EQ(busy_cycles(m, d), 3u + 21 + 6 + 3 + 1);
}

// Two tiles in a row: the second is fetched while the first runs. `end` waits for it, then one
// cycle.
TEST(CycleModel, SequencerHidesBehindABusyEngine) {
  const Machine m = machine(Design::kBaseline);
  const Program program = {make(Op::kTile), make(Op::kTile), make(Op::kEnd)};
  const Counts c = predict_batch(m, program, Phase::kBp);
  const std::uint64_t tile = 1 + 10 + 1;
  EXPECT_EQ(c.busy_main, 2 * tile);
  EXPECT_EQ(c.cycles, 3 + tile + 1 + tile + 1 + 1);
  EXPECT_EQ(c.issued, 3u);
}

// Engines overlap unless a descriptor waits.
TEST(CycleModel, WaitBitsKeepEnginesApart) {
  const Machine m = machine(Design::kMax);
  Descriptor slow = make(Op::kTile), beside = make(Op::kPtile);
  slow.n0 = beside.n0 = 100;
  const std::uint64_t both =
      predict_batch(m, Program{slow, beside, make(Op::kEnd)}, Phase::kGp).cycles;
  beside.wait = bit(Engine::kMain);
  const std::uint64_t apart =
      predict_batch(m, Program{slow, beside, make(Op::kEnd)}, Phase::kGp).cycles;
  EXPECT_EQ(both, 3 + 111u + 1 + 1);
  EXPECT_EQ(apart, 3 + 111u + 1 + 107 + 1 + 1);
}

TEST(CycleModel, PhasesOfASchedule) {
  const Schedule s = schedule_of("1ep bp, 1ep 4:1, 1ep bp, 2:1", 6, 7);
  const Machine low = machine(Design::kLow), baseline = machine(Design::kBaseline);
  std::uint64_t seen[kPhaseCount] = {};
  for (std::int64_t b = 0; b < s.batches(); ++b) ++seen[static_cast<int>(s.at(low, b))];
  for (const Phase p : {Phase::kGp, Phase::kBp, Phase::kWarm})
    EXPECT_EQ(s.count(low, p), seen[static_cast<int>(p)]);
  EXPECT_EQ(s.count(low, Phase::kWarm), 7u);  // BP batches later on are no warm-up
  EXPECT_EQ(s.count(low, Phase::kGp), 6u + 3 * 5);
  EXPECT_EQ(s.at(low, 7), Phase::kGp);  // GP comes first
  EXPECT_EQ(s.at(low, 11), Phase::kBp);
  EXPECT_EQ(s.at(low, 14), Phase::kBp);
  EXPECT_EQ(s.count(baseline, Phase::kBp), 42u);

  Descriptor only_gp = make(Op::kTile);
  only_gp.mask = bit(Phase::kGp);
  const Program program = {only_gp, make(Op::kEnd)};
  const Counts total = predict(low, program, s);
  EXPECT_EQ(total.gp_batches, seen[0]);
  EXPECT_EQ(total.main_rows, seen[0]);
  EXPECT_EQ(total.skipped, 42 - seen[0]);
  // A GP batch takes 11 cycles of the tile more than the 3 of a skipped descriptor; then `end`.
  const std::uint64_t skips = 3 + 3 + 1, runs = 3 + (1 + 10 + 1) + 1 + 1;
  EXPECT_EQ(total.warm_cycles, 7 * skips);
  EXPECT_EQ(total.bp_cycles, (42 - 7 - seen[0]) * skips);
  EXPECT_EQ(total.gp_cycles, seen[0] * runs);
  EXPECT_EQ(total.cycles, total.warm_cycles + total.bp_cycles + total.gp_cycles);
}

TEST(Phases, TheTableHasTheStretches) {
  const auto table = schedule_of("10ep bp, 2ep bp, 4ep 4:1, 3ep bp, 2ep 1:3", 90, 5).table();
  const std::vector<Stretch> expected = {
      {10, 0, 1, true}, {2, 0, 1, true}, {4, 4, 1, false}, {3, 0, 1, false}, {0, 1, 3, false}};
  EXPECT_EQ(table, expected);
  EXPECT_EQ(encode(Stretch{0xffff, 0, 0, false}), 0xffffu);
  EXPECT_EQ(encode(Stretch{0, 4, 1, true}), 0x101040000u);
}

TEST(Phases, SayWhatTheHardwareCannotHold) {
  const auto refused = [](const std::string& text, std::int64_t epochs, std::int64_t batches,
                          const std::string& found, const std::string& fits) {
    try {
      schedule_of(text, epochs, batches).check();
      ADD_FAILURE() << text << " was accepted";
    } catch (const UsageError& e) {
      EXPECT_NE(std::string(e.what()).find(found), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find(fits), std::string::npos) << e.what();
    }
  };
  std::string longest, too_long;
  for (int i = 0; i < 16; ++i) too_long += "1ep 1:1, ";
  longest = too_long.substr(9);
  refused(too_long + "bp", 90, 10, "17 stretches", "holds 16");
  schedule_of(longest + "bp", 90, 10).check();
  refused("65536ep bp, 1:1", 90, 10, "65536 epochs", "65535");
  schedule_of("65535ep bp, 255:255", 90, 10).check();
  refused("256:1", 90, 10, "256:1", "255");
  refused("1:256", 90, 10, "1:256", "255");
  refused("0:0", 90, 10, "'0:0'", "no batches");
  refused("1:1", 0, 10, "0 epochs", "at least 1");
  refused("1:1", 90, 0, "0 batches", "at least 1");
  refused("1:1", 65536, 65536, "65536 epochs", "4294967295");
  schedule_of("1:1", 65535, 65537).check();
}

}  // namespace
}  // namespace adagp::rtl

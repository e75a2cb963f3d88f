// The cycle model against hand-counted programs; the RTL itself is compared by make test WHAT=rtl.
#include <gtest/gtest.h>

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
  const Schedule s{20, 3, 4, 1};
  const Machine low = machine(Design::kLow), baseline = machine(Design::kBaseline);
  std::uint64_t seen[kPhaseCount] = {};
  for (std::uint32_t b = 0; b < s.batches; ++b) ++seen[static_cast<int>(s.at(low, b))];
  for (const Phase p : {Phase::kGp, Phase::kBp, Phase::kWarm})
    EXPECT_EQ(s.count(low, p), seen[static_cast<int>(p)]);
  EXPECT_EQ(s.at(low, 3), Phase::kGp);  // GP comes first after warm-up
  EXPECT_EQ(s.at(low, 7), Phase::kBp);
  EXPECT_EQ(s.count(baseline, Phase::kBp), 20u);

  Descriptor only_gp = make(Op::kTile);
  only_gp.mask = bit(Phase::kGp);
  const Program program = {only_gp, make(Op::kEnd)};
  const Counts total = predict(low, program, s);
  EXPECT_EQ(total.gp_batches, seen[0]);
  EXPECT_EQ(total.main_rows, seen[0]);
  EXPECT_EQ(total.skipped, 20 - seen[0]);
}

}  // namespace
}  // namespace adagp::rtl

// Lifetimes against a machine that steps through the cycles and ages every word.

#include "adagp/sim/arrays/lifetimes.h"

#include <gtest/gtest.h>

#include <map>

#include "adagp/base/core/rng.h"
#include "unit/arrays/made_traces.h"

namespace adagp::arrays {
namespace {

// Weight layers of one channel with an activation after each: sizes by their positions.
accel::Plan made_plan(const std::vector<int64_t>& sizes) {
  layers::Table table{"test", "made up", {}, {}};
  for (size_t i = 0; i + 1 < sizes.size(); ++i) {
    layers::Row row = test::linear_row(sizes[i], sizes[i + 1]);
    row.name = "fc" + std::to_string(i);
    table.rows.push_back(row);
    layers::Row relu = row;
    relu.name = row.name + "/relu";
    relu.op = "activation";
    relu.input = row.output;
    relu.weights = relu.bias = relu.macs = 0;
    table.rows.push_back(relu);
  }
  return accel::make_plan(table, {});
}

RowTimes made_times(size_t rows, uint64_t seed) {
  core::Rng random(seed);
  RowTimes out;
  for (size_t i = 0; i < rows; ++i) {
    out.forward.push_back(1 + random.below(9));
    out.backward.push_back(1 + random.below(9));
  }
  return out;
}

// A program of steps, each with the tensors it reads and writes; the machine runs it cycle by
// cycle.
struct Step {
  int64_t cycles;
  std::vector<std::string> reads, writes;
};

class Stepper {
 public:
  std::map<std::string, int64_t> longest;  // age of a tensor when it was last read

  void run(const std::vector<Step>& steps) {
    std::map<std::string, int64_t> age;
    for (const Step& step : steps) {
      for (int64_t i = 0; i < step.cycles; ++i) {
        for (auto& [name, cycles] : age) ++cycles;
      }
      for (const std::string& name : step.reads) {
        EXPECT_TRUE(age.contains(name)) << name << " is read before it is written";
        longest[name] = std::max(longest[name], age[name]);
      }
      for (const std::string& name : step.writes) age[name] = 0;  // a rewritten word is fresh
    }
  }
};

std::map<std::string, int64_t> lifetimes_of(const StoredTensors& stored) {
  std::map<std::string, int64_t> out;
  for (const StoredTensor& one : stored.tensors) out[one.name] = one.lifetime();
  return out;
}

void expect_lives(const std::map<std::string, int64_t>& stepped, const StoredTensors& stored) {
  const auto lives = lifetimes_of(stored);
  for (const auto& [name, cycles] : stepped) {
    ASSERT_TRUE(lives.contains(name)) << name;
    EXPECT_EQ(lives.at(name), cycles) << name;
  }
}

TEST(Lifetimes, BackpropEqualsAMachineThatAgesEveryWord) {
  const int layers = 4;
  const accel::Plan plan = made_plan({5, 5, 5, 5, 5});
  const RowTimes times = made_times(plan.layers.size(), 3);
  std::vector<Step> steps = {{0, {}, {"input"}}};
  const auto name = [](int layer) {
    return layer < 0 ? std::string("input") : "fc" + std::to_string(layer);
  };
  for (int l = 0; l < layers; ++l) {
    const auto row = static_cast<size_t>(2 * l);
    steps.push_back({times.forward[row], {name(l - 1)}, {name(l)}});
    steps.push_back({times.forward[row + 1], {name(l)}, {name(l)}});  // in place
  }
  steps.push_back({0, {}, {name(layers - 1) + " gradient"}});  // the loss
  for (int l = layers; l-- > 0;) {
    const auto row = static_cast<size_t>(2 * l);
    const std::string gradient = name(l) + " gradient";
    // The activation's backward pass reads its output, and changes the gradient in place.
    steps.push_back({times.backward[row + 1], {name(l), gradient}, {gradient}});
    std::vector<std::string> made;
    if (l > 0) made.push_back(name(l - 1) + " gradient");
    steps.push_back({times.backward[row], {name(l - 1), gradient}, made});
  }
  Stepper stepper;
  stepper.run(steps);
  // A gradient is fresh after the activation's pass: what counts is the life from there.
  const StoredTensors stored = stored_tensors(plan, times, Timeline::kBackprop, 2);
  for (int l = 0; l < layers; ++l) {
    const auto row = static_cast<size_t>(2 * l);
    stepper.longest[name(l) + " gradient"] = times.backward[row];
  }
  expect_lives(stepper.longest, stored);
  int64_t all = 0;
  for (size_t i = 0; i < plan.layers.size(); ++i) all += times.forward[i] + times.backward[i];
  EXPECT_EQ(stored.cycles, all);
}

TEST(Lifetimes, AnActivationOfAGpBatchLivesOneLayer) {
  const accel::Plan plan = made_plan({5, 6, 7, 8});
  const RowTimes times = made_times(plan.layers.size(), 5);
  const auto lives = lifetimes_of(stored_tensors(plan, times, Timeline::kPredict, 2));
  EXPECT_EQ(lives.at("input"), times.forward[0]);
  EXPECT_EQ(lives.at("fc0"), times.forward[2]);
  EXPECT_EQ(lives.at("fc1"), times.forward[4]);
  EXPECT_EQ(lives.at("fc2"), 0);
  EXPECT_FALSE(lives.contains("fc0 gradient"));
}

TEST(Lifetimes, ReversibleBlocksEqualAMachineThatAgesEveryWord) {
  const int layers = 6;  // three blocks of two layers
  const accel::Plan plan = made_plan({5, 5, 5, 5, 5, 5, 5});
  const RowTimes times = made_times(plan.layers.size(), 7);
  std::vector<Step> steps = {{0, {}, {"input kept"}}};
  const auto fc = [](int layer) { return "fc" + std::to_string(layer); };
  const auto forward = [&](int l, const std::string& input, const std::string& output) {
    const auto row = static_cast<size_t>(2 * l);
    steps.push_back({times.forward[row], {input}, {output}});
    steps.push_back({times.forward[row + 1], {output}, {output}});
  };
  for (int l = 0; l < layers; ++l) {
    forward(l, l == 0 ? "input kept" : fc(l - 1), fc(l));
  }
  steps.push_back({0, {}, {fc(5) + " output"}});
  for (int block = 2; block >= 0; --block) {
    const int first = 2 * block;
    const std::string input = block == 0 ? "input kept" : fc(first - 1) + " won back";
    const std::string output = block == 2 ? fc(5) + " output" : fc(first + 1) + " won back";
    // Both layers run again: what they give wins the input back from the output.
    const auto row = static_cast<size_t>(2 * first);
    steps.push_back({times.forward[row], {}, {fc(first) + " again"}});
    steps.push_back({times.forward[row + 1], {}, {fc(first) + " again"}});
    steps.push_back({times.forward[row + 2] + times.forward[row + 3], {output}, {}});
    if (block > 0) steps.push_back({0, {}, {input}});
    steps.push_back({times.backward[row + 3] + times.backward[row + 2], {}, {}});
    steps.push_back({times.backward[row + 1], {fc(first) + " again"}, {}});
    steps.push_back({times.backward[row], {input}, {}});
  }
  Stepper stepper;
  stepper.run(steps);
  // fc1, fc3 and fc5 end their blocks; in the forward pass all live until the next layer has run.
  for (int l = 0; l + 1 < layers; ++l) {
    stepper.longest[fc(l)] = times.forward[static_cast<size_t>(2 * l + 2)];
  }
  stepper.longest.erase(fc(5));  // stored once, as the output
  const StoredTensors stored = stored_tensors(plan, times, Timeline::kReversible, 2);
  expect_lives(stepper.longest, stored);
  // Recomputation adds one forward pass to the batch.
  const StoredTensors plain = stored_tensors(plan, times, Timeline::kBackprop, 2);
  int64_t forward_cycles = 0;
  for (const int64_t cycles : times.forward) forward_cycles += cycles;
  EXPECT_EQ(stored.cycles, plain.cycles + forward_cycles);
}

TEST(Lifetimes, BlocksThatChangeSizesKeepTheirInput) {
  const accel::Plan plan = made_plan({5, 5, 5, 9, 9});
  const RowTimes times = made_times(plan.layers.size(), 1);
  const auto lives = lifetimes_of(stored_tensors(plan, times, Timeline::kReversible, 2));
  EXPECT_TRUE(lives.contains("fc1 kept"));
  EXPECT_FALSE(lives.contains("fc1 won back"));
  EXPECT_GT(lives.at("fc1 kept"), times.forward[4] + times.forward[6]);
}

accel::Plan plan_with_frozen(const std::vector<std::pair<int64_t, int64_t>>& frozen,
                             const std::vector<std::pair<int64_t, int64_t>>& trained) {
  layers::Table table{"test", "made up", {}, {}};
  const auto add = [&](const std::string& name, std::pair<int64_t, int64_t> size, int64_t fixed) {
    table.rows.push_back(test::linear_row(size.first, size.second));
    table.rows.back().name = name + std::to_string(table.rows.size() - 1);
    table.rows.back().frozen = fixed;
  };
  for (const auto& size : frozen) add("f", size, 1);
  for (const auto& size : trained) add("t", size, 0);
  return accel::make_plan(table, {});
}

RowTimes times_with_frozen(const accel::Plan& plan) {
  RowTimes times = made_times(plan.layers.size(), 11);
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    if (plan.layers[i].frozen) times.backward[i] = 0;
  }
  return times;
}

// f0 feeds f1 and t2, f1 feeds t4: by their sizes 6 and 7. Blocks are t2, t3 and t4, t5.
TEST(Lifetimes, FrozenTensorsLiveUntilTheirLastReaderHasRun) {
  const accel::Plan plan = plan_with_frozen({{5, 6}, {6, 7}}, {{6, 4}, {4, 4}, {7, 4}, {4, 3}});
  const RowTimes times = times_with_frozen(plan);
  const std::string f0 = "f0 frozen", f1 = "f1 frozen";
  const auto reads = [&](size_t row) {
    return row == 2 ? std::vector{f0} : row == 4 ? std::vector{f1} : std::vector<std::string>{};
  };
  std::vector<Step> forward = {
      {0, {}, {"input"}}, {times.forward[0], {"input"}, {f0}}, {times.forward[1], {f0}, {f1}}};
  for (const size_t row : {2, 3, 4, 5}) forward.push_back({times.forward[row], reads(row), {}});
  std::vector<Step> exact = forward, reversible = forward;
  for (const size_t row : {5, 4, 3, 2}) exact.push_back({times.backward[row], reads(row), {}});
  for (const size_t first : {4, 2}) {
    for (const size_t row : {first, first + 1}) {
      reversible.push_back({times.forward[row], reads(row), {}});
    }
    for (const size_t row : {first + 1, first}) {
      reversible.push_back({times.backward[row], reads(row), {}});
    }
  }
  for (const auto& [kind, steps] : {std::pair{Timeline::kPredict, forward},
                                    {Timeline::kBackprop, exact},
                                    {Timeline::kReversible, reversible}}) {
    Stepper stepper;
    stepper.run(steps);
    const StoredTensors stored = stored_tensors(plan, times, kind, 2);
    expect_lives(stepper.longest, stored);
    int64_t cycles = 0;
    for (const Step& step : steps) cycles += step.cycles;
    EXPECT_EQ(stored.cycles, cycles);  // frozen rows run once
    const auto lives = lifetimes_of(stored);
    EXPECT_FALSE(lives.contains("f1 frozen again") || lives.contains("f0 gradient"));
  }
}

TEST(Lifetimes, OfTwoFrozenMapsOfOneShapeTheLastReaderReadsTheLast) {
  const accel::Plan plan = plan_with_frozen({{5, 6}, {6, 6}, {6, 9}}, {{6, 4}, {6, 4}});
  const RowTimes times = times_with_frozen(plan);
  const auto lives = lifetimes_of(stored_tensors(plan, times, Timeline::kPredict, 2));
  const std::vector<int64_t>& t = times.forward;
  EXPECT_EQ(lives.at("f0 frozen"), t[1] + t[2] + t[3]);
  EXPECT_EQ(lives.at("f1 frozen"), t[2] + t[3] + t[4]);
  EXPECT_EQ(lives.at("f2 frozen"), 0);  // nobody reads it
}

TEST(Lifetimes, AllFrozenIsAForwardPass) {
  const accel::Plan plan = plan_with_frozen({{5, 6}, {6, 7}}, {});
  const RowTimes times = times_with_frozen(plan);
  for (const Timeline kind : {Timeline::kBackprop, Timeline::kReversible}) {
    EXPECT_EQ(stored_tensors(plan, times, kind, 2).cycles, times.forward[0] + times.forward[1]);
  }
}

// The lecture: the memory of reversible training does not grow with the depth.
TEST(Lifetimes, ReversibleMemoryDoesNotGrowWithTheNumberOfBlocks) {
  const auto peak = [](size_t blocks, Timeline kind) {
    const accel::Plan plan = made_plan(std::vector<int64_t>(2 * blocks + 1, 5));
    accel::Accelerator a;
    a.edram.bytes = 0;
    const RowTimes times = made_times(plan.layers.size(), 3);
    return edram_cost(stored_tensors(plan, times, kind, 2), a, 1).peak_bytes;
  };
  EXPECT_EQ(peak(20, Timeline::kReversible), peak(4, Timeline::kReversible));
  EXPECT_GE(peak(20, Timeline::kBackprop), peak(4, Timeline::kBackprop) + 32 * 5);
}

// Every row takes one cycle. The backward pass of block 1 (fc2, fc3) runs from 12 to 16, that of
// block 0 from 20 to 24; input and fc1 are kept.
//   words   alive           words   alive          words   alive
//   input 20  0..24         fc1  2    4..20        gradients of fc3 3  13..14
//   fc0    2  2..3          fc2  3    6..7                      fc2 3  15..16
//   fc0    2  18..23        fc2  3   10..15                     fc1 2  21..22
//                           fc3  3    8..12                     fc0 2  23..24
TEST(Lifetimes, ATensorThatIsKeptIsStoredOnce) {
  const accel::Plan plan = made_plan({20, 2, 2, 3, 3});
  const RowTimes times{std::vector<int64_t>(8, 1), std::vector<int64_t>(8, 1)};
  const StoredTensors stored = stored_tensors(plan, times, Timeline::kReversible, 2);
  EXPECT_EQ(stored.cycles, 24);
  int64_t written = 0, read = 0;
  for (const StoredTensor& one : stored.tensors) {
    written += one.words;
    read += one.words * one.reads;
  }
  EXPECT_EQ(written, 20 + 2 + 2 + 3 + 3 + 2 + 3 + 3 + 3 + 2 + 2);
  // The input is read forward, again and backward; fc1 also to compute block 0 again. Of fc2 and
  // fc0 the first copy is read once, the second twice.
  EXPECT_EQ(read, 3 * 20 + 4 * 2 + (1 + 2) * (2 + 3) + 3 + (3 + 3 + 2 + 2));
  accel::Accelerator a;
  a.edram = {0, 1000, 1, 1, 1, 0, 2};
  // From 10 to 12: input, fc1, fc2, fc3.
  EXPECT_EQ(edram_cost(stored, a, 1).peak_bytes, 20 + 2 + 3 + 3);
}

// The published table: eight lifetimes at a retention of 3.35 us.
TEST(Edram, PublishedRefreshCounts) {
  for (const double us : {2.66, 2.78, 2.95, 3.10}) EXPECT_EQ(refreshes(us, 3.35), 0) << us;
  for (const double us : {3.40, 3.61, 3.90, 4.13}) EXPECT_EQ(refreshes(us, 3.35), 1) << us;
  EXPECT_EQ(refreshes(3.35, 3.35), 0);
  EXPECT_EQ(refreshes(10.1, 3.35), 3);
}

TEST(Edram, EnergyByHand) {
  accel::Accelerator a;
  a.clock_mhz = 1;  // a cycle is a microsecond
  a.edram = {0, 10, 1, 2, 3, 0, 2};
  // 100 words for 25 us: two refreshes; 10 words for 5 us: none.
  const StoredTensors stored{{{"a", 100, 0, 25, 2}, {"b", 10, 5, 10, 1}}, 30};
  const EdramCost cost = edram_cost(stored, a, 2);
  EXPECT_EQ(cost.most_refreshes, 2);
  EXPECT_EQ(cost.longest_us, 25);
  EXPECT_DOUBLE_EQ(cost.mean_us, (100 * 25 + 10 * 5) / 110.0);
  EXPECT_DOUBLE_EQ(cost.fresh_share, 10 / 110.0);
  EXPECT_DOUBLE_EQ(cost.refresh_j, 100 * 2 * 3e-12);
  EXPECT_DOUBLE_EQ(cost.access_j, (100 * (2 + 2 * 1) + 10 * (2 + 1)) * 1e-12);
  EXPECT_DOUBLE_EQ(cost.peak_bytes, 220);
  EXPECT_EQ(cost.spilled_bytes, 0);
  // 150 bytes hold "b" alone.
  a.edram.bytes = 150;
  const EdramCost spilled = edram_cost(stored, a, 2);
  EXPECT_DOUBLE_EQ(spilled.spilled_bytes, 200);
  EXPECT_EQ(spilled.refresh_j, 0);
  // Lives of what lies in the eDRAM.
  EXPECT_EQ(spilled.longest_us, 5);
  EXPECT_EQ(spilled.mean_us, 5);
  EXPECT_EQ(spilled.fresh_share, 1);
  EXPECT_DOUBLE_EQ(spilled.dram_j, 200 * 8 * 3 * a.energy.dram_pj_per_bit * 1e-12);
}

}  // namespace
}  // namespace adagp::arrays

// Programs of networks: what they count, and what does not fit. make test WHAT=rtl runs them on the
// RTL.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "adagp/base/core/error.h"
#include "adagp/sim/rtl/cycle_model.h"
#include "adagp/sim/rtl/network_program.h"
#include "rtl/golden.h"

namespace adagp::rtl {
namespace {

Machine large_machine(Design design) {
  Machine m;
  m.design = design;
  m.w_bits = 14;
  m.predictor_bits = 16;
  m.descriptor_bits = 16;
  return m;
}

LayerProduct layer(std::int64_t side, std::int64_t k, std::int64_t n, bool first) {
  return {"conv", 1, side * side, k, n, side, side, !first};
}

Network network() {
  return {
      "small", 1, {layer(16, 27, 24, true), layer(8, 216, 30, false), layer(1, 120, 10, false)}};
}

constexpr std::uint32_t kEveryEngine = (1u << kEngineCount) - 1;
constexpr Design kDesigns[] = {Design::kBaseline, Design::kLow, Design::kEfficient, Design::kMax};

TEST(NetworkProgram, StreamsEveryRowOfEveryProduct) {
  for (const Design design : kDesigns) {
    const Machine m = large_machine(design);
    const NetworkProgram made = make_program(m, network());
    const Counts bp = predict_batch(m, made.program, Phase::kBp);
    std::uint64_t rows = 0;
    for (const LayerProduct& l : network().layers) {
      const std::int64_t tiles = (l.k + m.cols - 1) / m.cols * ((l.n + m.rows - 1) / m.rows);
      rows += static_cast<std::uint64_t>(l.m * tiles * (l.input_gradient ? 3 : 2));
    }
    // Weights move once, a tile at a time.
    std::uint64_t drained = bp.update_rows;
    if (m.learns()) {
      // For a tile of channels: the convolution forward and backward (27 inputs in 2 tiles, 8 rows
      // of the map), the dense layer (257 inputs in 18 tiles) forward, for the features, for the
      // weights. Then the filters' gradients and the new matrix: 8 columns, 30 inputs in 3 tiles.
      std::uint64_t widest = 0;
      for (const LayerProduct& l : network().layers) {
        const auto tiles = static_cast<std::uint64_t>((l.n + m.rows - 1) / m.rows);
        rows += tiles * static_cast<std::uint64_t>(2 * 8 * 2 * 128 + 3 * 18 * l.k);
        drained += tiles * 18 * 15;
        widest = std::max(widest, static_cast<std::uint64_t>(l.k));
      }
      rows += 2 * 8 * 3 * 16;
      drained -= 2 * (16 + 18 * widest);  // 15 lanes are two rows of 12
    }
    EXPECT_EQ(bp.main_rows, rows) << kDesignNames[static_cast<int>(design)];
    EXPECT_EQ(bp.pred_rows, 0u);
    EXPECT_EQ(bp.main_drain_rows, drained);
  }
}

Machine learning_max() {
  Machine m = large_machine(Design::kMax);
  m.pred_three_modes = true;
  return m;
}

// The main array works as without a predictor, but for the step; the second array has the
// convolution forward and backward (27 inputs in 3 tiles, 8 rows of the map) and the dense layer
// (257 inputs in 26 tiles) forward, for the features, for the weights, for each tile of 8 channels.
TEST(NetworkProgram, MaxLearnsOnItsSecondArray) {
  const Machine m = learning_max();
  const Counts bp = predict_batch(m, make_program(m, network()).program, Phase::kBp),
               exact = predict_batch(
                   large_machine(Design::kBaseline),
                   make_program(large_machine(Design::kBaseline), network()).program, Phase::kBp);
  std::uint64_t rows = 0, drained = 0;
  for (const LayerProduct& l : network().layers) {
    // Blocks of 24 channels are three tiles of 8, and half a block two.
    const std::int64_t main_tiles = (l.n + 11) / 12,
                       tiles = main_tiles / 2 * 3 + main_tiles % 2 * 2;
    rows += static_cast<std::uint64_t>(tiles * (2 * 8 * 3 * 128 + 3 * 26 * l.k));
    drained += static_cast<std::uint64_t>(tiles * 26 * 10);
  }
  EXPECT_EQ(bp.pred_rows, rows);
  EXPECT_EQ(bp.pred_drain_rows, drained);
  EXPECT_EQ(bp.main_rows, exact.main_rows + 2 * 8 * 3 * 16);
  EXPECT_EQ(bp.main_drain_rows, exact.main_drain_rows);
}

// Beside the main array: a batch is shorter than what the two arrays and the step need in turn.
TEST(NetworkProgram, MaxLearnsBesideTheNextLayer) {
  const Machine m = learning_max();
  const NetworkProgram made = make_program(m, network());
  Program in_turn = made.program;
  for (Descriptor& d : in_turn) d.wait = kEveryEngine;
  const Counts beside = predict_batch(m, made.program, Phase::kBp),
               one = predict_batch(m, in_turn, Phase::kBp);
  EXPECT_EQ(beside.busy_pred, one.busy_pred);
  EXPECT_LT(beside.cycles + beside.busy_main / 4, one.cycles);
}

TEST(NetworkProgram, PredictsAllWeightsOfAGpBatch) {
  for (const Design design : {Design::kLow, Design::kEfficient, Design::kMax}) {
    const Machine m = large_machine(design);
    const NetworkProgram made = make_program(m, network());
    const Counts gp = predict_batch(m, made.program, Phase::kGp);
    std::uint64_t rows = 0;
    for (const LayerProduct& l : network().layers) {
      rows += static_cast<std::uint64_t>((l.n + m.rows - 1) / m.rows * l.k);
    }
    EXPECT_EQ(gp.update_rows, rows) << kDesignNames[static_cast<int>(design)];
    EXPECT_EQ(gp.main_drain_rows, 0u);
    EXPECT_EQ(gp.pred_rows > 0, design == Design::kMax);
  }
}

// Rows of the outside memory that a phase stores of the 16-bit weights. The upper half of W has
// what a predictor that learns keeps of a layer: cells and features.
std::set<std::uint32_t> stored_weights(const Machine& m, const Program& program, Phase phase) {
  std::set<std::uint32_t> out;
  for (const Descriptor& d : program) {
    const bool store = static_cast<Op>(d.op) == Op::kDma && d.store != 0;
    if (!store || (d.mask & bit(phase)) == 0 || static_cast<Buffer>(d.kind) != Buffer::kW) continue;
    if (m.learns() && d.xb >= 1u << (m.w_bits - 1)) continue;
    for (std::uint32_t i = 0; i < d.n0; ++i) {
      EXPECT_TRUE(out.insert(d.addr + i).second) << "row " << d.addr + i << " is stored twice";
    }
  }
  return out;
}

TEST(NetworkProgram, EveryDesignWritesEveryWeightOnce) {
  for (const Design design : {Design::kLow, Design::kEfficient, Design::kMax}) {
    const Machine m = large_machine(design);
    const NetworkProgram made = make_program(m, network());
    size_t rows = 0, padded = 0;
    for (const LayerProduct& l : network().layers) {
      const std::int64_t tiles = (l.n + m.rows - 1) / m.rows;
      rows += static_cast<size_t>(tiles * l.k);
      padded += static_cast<size_t>(tiles * ((l.k + m.cols - 1) / m.cols) * m.cols);
    }
    const auto predicted = stored_weights(m, made.program, Phase::kGp);
    const auto exact = stored_weights(m, made.program, Phase::kBp);
    EXPECT_EQ(predicted.size(), rows) << kDesignNames[static_cast<int>(design)];
    EXPECT_EQ(exact.size(), padded);
    EXPECT_TRUE(std::includes(exact.begin(), exact.end(), predicted.begin(), predicted.end()));
  }
}

TEST(NetworkProgram, LayersAddUpToTheBatch) {
  for (const Design design : kDesigns) {
    const Machine m = large_machine(design);
    const NetworkProgram made = make_program(m, network());
    for (const Phase phase : {Phase::kBp, Phase::kGp}) {
      const LayerCycles cycles = layer_cycles(m, made, phase);
      ASSERT_EQ(cycles.forward.size(), 3u);
      const std::uint64_t sum =
          std::accumulate(cycles.forward.begin(), cycles.forward.end(), std::uint64_t{0}) +
          std::accumulate(cycles.backward.begin(), cycles.backward.end(), std::uint64_t{0});
      EXPECT_EQ(sum, predict_batch(m, made.program, phase).cycles);
    }
  }
}

TEST(NetworkProgram, ChunksOfALargeBatchAreWholeWithoutAPredictor) {
  Network large = network();
  large.batch = 40;
  for (LayerProduct& l : large.layers) l.m *= 40;
  const Machine m = large_machine(Design::kBaseline);
  const Counts bp = predict_batch(m, make_program(m, large).program, Phase::kBp);
  const Counts one = predict_batch(m, make_program(m, network()).program, Phase::kBp);
  EXPECT_EQ(bp.main_rows, 40 * one.main_rows);
}

// Words that updates stored outside: weights, their precise copies, velocities.
std::map<size_t, std::uint32_t> updated(const Machine& m, const Program& program, Golden& golden) {
  std::map<size_t, std::uint32_t> out;
  const auto lanes = static_cast<size_t>(m.lanes());
  for (const Descriptor& d : program) {
    const auto buffer = static_cast<Buffer>(d.kind);
    const bool store = static_cast<Op>(d.op) == Op::kDma && d.store != 0;
    if (!store || buffer == Buffer::kX || buffer == Buffer::kG) continue;
    for (size_t i = d.addr * lanes; i < (d.addr + d.n0) * lanes; ++i) out[i] = golden.outside()[i];
  }
  return out;
}

// A memory that holds a part of the predictor's weights: the same updates, and more transfers.
// (Unused rows of X are stored, too, and hold what was loaded before.)
TEST(NetworkProgram, APredictorThatDoesNotFitIsLoadedInParts) {
  Network wide{"wide", 1, {layer(8, 30, 30, true), layer(4, 1305, 26, false)}};
  for (const Design design : {Design::kEfficient, Design::kMax}) {
    Machine few = large_machine(design), all = few;
    few.predictor_bits = 13;
    const NetworkProgram in_parts = make_program(few, wide), whole = make_program(all, wide);
    ASSERT_EQ(in_parts.outside_beats, whole.outside_beats);
    const Counts part = predict_batch(few, in_parts.program, Phase::kGp),
                 once = predict_batch(all, whole.program, Phase::kGp);
    EXPECT_EQ(part.update_rows, once.update_rows);
    EXPECT_EQ(part.main_rows, once.main_rows);
    EXPECT_EQ(part.pred_rows, once.pred_rows);
    EXPECT_GT(part.dma_load_beats, once.dma_load_beats);

    Golden first(few, static_cast<size_t>(in_parts.outside_beats)),
        second(all, static_cast<size_t>(whole.outside_beats));
    std::mt19937 random(7);
    for (std::uint32_t& word : first.outside()) word = random() & 0xff;
    second.outside() = first.outside();
    const auto before = updated(few, in_parts.program, first);
    const Schedule schedule = schedule_of("1ep bp, 1ep gp, bp", 3, 1);  // warm-up, GP, BP
    first.run(in_parts.program, schedule);
    second.run(whole.program, schedule);
    const auto after = updated(few, in_parts.program, first);
    EXPECT_FALSE(after == before);
    EXPECT_TRUE(after == updated(all, whole.program, second))
        << kDesignNames[static_cast<int>(design)];
  }
}

template <typename F>
std::string refusal(F make) {
  try {
    make();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(NetworkProgram, SaysWhatDoesNotFit) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' has no '" << part << "'";
  };
  Network large = network();
  large.batch = 40;
  for (LayerProduct& l : large.layers) l.m *= 40;
  has(refusal([&] { make_program(large_machine(Design::kLow), large); }), "use a smaller batch");
  Machine forgetful = large_machine(Design::kMax);
  forgetful.predictor_bits = 10;
  has(refusal([&] { make_program(forgetful, network()); }), "1024 rows is too small");
  Network wide = network();
  wide.layers[1].n = 2000;
  has(refusal([&] { make_program(large_machine(Design::kMax), wide); }),
      "the maps of its 2000 filters need 23436 rows of the predictor array's memory, which has "
      "7802 for them: 648 filters fit");
  wide.layers[1].n = 649;
  has(refusal([&] { make_program(large_machine(Design::kMax), wide); }), "648 filters fit");
  // A group of 30 takes three tiles of 12.
  wide.layers[1].n = 30;
  wide.layers[1].groups = 19;
  has(refusal([&] { make_program(large_machine(Design::kMax), wide); }),
      "the maps of its 570 filters need 8091 rows of the predictor array's memory, which has 7802 "
      "for them: 18 groups of 30 filters fit");
  wide.layers[1].groups = 18;
  EXPECT_EQ(refusal([&] { make_program(large_machine(Design::kMax), wide); }), "");
  wide.layers[1].groups = 1;
  wide.layers[1].n = 648;
  EXPECT_EQ(refusal([&] { make_program(large_machine(Design::kMax), wide); }), "");
  Machine few = large_machine(Design::kBaseline);
  few.descriptor_bits = 6;
  has(refusal([&] { make_program(few, network()); }), "holds 64");
  Machine narrow = large_machine(Design::kLow);
  narrow.w_bits = 8;
  has(refusal([&] { make_program(narrow, network()); }),
      "memory W of 256 rows is too small: a network's program needs 394");
  narrow = large_machine(Design::kEfficient);
  narrow.y_bits = 11;
  has(refusal([&] { make_program(narrow, network()); }),
      "memory Y of 2048 rows is too small: the predictor needs 4096");
  Machine small = learning_max();
  small.pred_cols = 20;
  has(refusal([&] { make_program(small, network()); }),
      "a predictor array of 20 columns cannot learn beside a main array of 15 columns, whose units "
      "move its weights: 15 columns fit");
  small = learning_max();
  small.y_bits = 10;
  has(refusal([&] { make_program(small, network()); }),
      "memory Y of 1024 rows is too small: the predictor needs 1025");
  small.y_bits = 11;
  EXPECT_EQ(refusal([&] { make_program(small, network()); }), "");
  has(refusal([&] {
        make_program(large_machine(Design::kMax), Network{"none", 1, {}});
      }),
      "no layer");
}

}  // namespace
}  // namespace adagp::rtl

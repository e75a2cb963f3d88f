// The predictor of network programs against the engine's (docs/method.md), written here in double
// precision, and the scale against the RMS.
#include <gtest/gtest.h>

#include "predictor_example.h"

namespace adagp::rtl {
namespace {

struct Predicted {
  double value, bound;  // of the format's rounding errors
};

// The engine's predictor for the outputs of one channel, [batch][row][column].
std::vector<Predicted> reference(const Example& e, const std::vector<double>& y) {
  const int window = kImage / 8;
  std::vector<double> cell(64), size(64);
  for (int i = 0; i < kBatch * kImage * kImage; ++i) {
    const int c = i / kImage % kImage / window * 8 + i % kImage / window;
    cell[c] += y[i] / (kBatch * window * window);
    size[c] += std::fabs(y[i]) / (kBatch * window * window);
  }
  std::vector<double> feature(256), error(256);
  for (int f = 0; f < 16; ++f)
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 8; ++c) {
        double sum = e.start.filter_bias[f], of_cells = 0, of_sums = std::fabs(sum);
        for (int t = 0; t < 9; ++t) {
          const int row = r + t / 3 - 1, column = c + t % 3 - 1;
          if (row < 0 || column < 0 || row > 7 || column > 7) continue;
          const double w = e.start.filter[f * 9 + t];
          sum += w * cell[row * 8 + column];
          of_cells += std::fabs(w * cell[row * 8 + column]);
          of_sums += std::fabs(w) * size[row * 8 + column];
        }
        const int to = f * 16 + r / 2 * 4 + c / 2;
        feature[to] += std::max(sum, 0.0) / 4;
        // Cells are rounded to bfloat16; sums of less than 32 floats.
        error[to] += (kHalfUnit * of_cells + std::ldexp(of_sums, -18)) / 4;
      }
  std::vector<Predicted> out;
  for (int j = 0; j < kWeights; ++j) {
    Predicted p{e.start.dense_bias[j], 0};
    for (int i = 0; i < 256; ++i) {
      const double w = e.start.dense[j * 256 + i];
      p.value += w * feature[i];
      // Features are rounded to bfloat16; a sum of 257 floats.
      p.bound += std::fabs(w) * (error[i] + kHalfUnit * (feature[i] + error[i]) +
                                 std::ldexp(feature[i] + error[i], -15));
    }
    out.push_back(p);
  }
  return out;
}

TEST(MachinePredictor, IsTheEnginesWithinTheFormatsError) {
  for (const Design design : {Design::kLow, Design::kEfficient, Design::kMax}) {
    Example e(design);
    const Machine& m = e.machine;
    Golden golden(m, static_cast<std::size_t>(e.made.outside_beats));
    e.fill(golden);
    golden.run_batch(e.made.program, Phase::kWarm);  // loads the constants, and learns
    e.fill(golden);
    Program again;
    for (const Descriptor& d : e.made.program)
      if (static_cast<Op>(d.op) == Op::kDma && static_cast<Buffer>(d.kind) == Buffer::kPx)
        again.push_back(d);
    again.push_back(e.made.program.back());
    golden.run_batch(again, Phase::kWarm);
    const std::uint32_t exact = bit(Phase::kBp) | bit(Phase::kWarm);
    const Descriptor& scale = e.transfer(Buffer::kP, exact, true, 1);
    for (int lane = 0; lane < m.lanes(); ++lane) e.word(golden, scale.addr, lane) = 3;
    std::vector<Descriptor> velocities;  // of one tile of channels each
    for (const Descriptor& d : e.made.program)
      if (static_cast<Op>(d.op) == Op::kDma && static_cast<Buffer>(d.kind) == Buffer::kV &&
          d.mask == bit(Phase::kGp) && d.store)
        velocities.push_back(d);
    ASSERT_EQ(velocities.size(), 2u);
    for (const Descriptor& d : velocities)
      for (std::uint32_t i = 0; i < d.n0; ++i)
        for (int lane = 0; lane < m.lanes(); ++lane) e.word(golden, d.addr + i, lane) = 0;
    golden.run_batch(e.made.program, Phase::kGp);
    const int pixels = kBatch * kImage * kImage;
    double values = 0, bounds = 0;
    for (int n = 0; n < kChannels; ++n) {
      std::vector<double> y;
      for (int i = 0; i < pixels; ++i)
        y.push_back(number(golden.at(Buffer::kY, n / m.rows * pixels + i, n % m.rows)));
      const auto expected = reference(e, y);
      const Descriptor& d = velocities[n / m.rows];
      ASSERT_EQ(d.n0, static_cast<std::uint32_t>(kWeights));
      for (int j = 0; j < kWeights; ++j) {
        // A velocity of 0 becomes the scaled prediction.
        const double seen = 8 * number(e.word(golden, d.addr + j, n % m.rows));
        EXPECT_NEAR(seen, expected[j].value, expected[j].bound)
            << kDesignNames[static_cast<int>(design)] << " channel " << n << " weight " << j;
        values += std::fabs(expected[j].value);
        bounds += expected[j].bound;
      }
    }
    EXPECT_GT(values, 3 * bounds);  // or every prediction would pass
  }
}

// Updates with gradients of one size: the scale settles within a factor of two of their RMS.
TEST(MachinePredictor, AScaleFindsTheRms) {
  for (const Format format : {Format::kFixed, Format::kBf16})
    for (const double size : {0.004, 0.03, 0.7})
      for (const bool even : {false, true}) {
        Machine m;
        m.design = Design::kLow;
        m.format = format;
        Golden golden(m, 1);
        std::mt19937 random(5);
        std::normal_distribution<double> normal;
        constexpr int kRows = 50;
        double squares = 0;
        for (int row = 0; row < kRows; ++row)
          for (int lane = 0; lane < m.rows; ++lane) {
            const double g = size * (even ? 1 : normal(random));
            squares += g * g;
            golden.at(Buffer::kO, row, lane) =
                format == Format::kBf16 ? sum_of(g)
                                        : static_cast<std::uint32_t>(std::lround(g * 65536));
          }
        Descriptor d;
        d.op = static_cast<std::uint32_t>(Op::kVec);
        d.kind = static_cast<std::uint32_t>(VecKind::kSgd);
        d.mask = kEveryPhase;
        d.n0 = kRows;
        d.n1 = d.n2 = d.s0 = d.bias = d.clear = d.drain = 1;
        d.wb = 100;
        d.addr = kRows * static_cast<std::uint32_t>(m.rows);
        Descriptor end;
        end.op = static_cast<std::uint32_t>(Op::kEnd);
        end.mask = kEveryPhase;
        const double rms = std::sqrt(squares / d.addr);
        for (const std::uint32_t from : {0u, 31u}) {
          golden.at(Buffer::kP, 100, 0) = from;
          for (int i = 0; i < 40; ++i) golden.run_batch({d, end}, Phase::kBp);
          const double scale = std::ldexp(1, -static_cast<int>(golden.at(Buffer::kP, 100, 0)));
          EXPECT_GE(rms, scale / 2) << size;
          EXPECT_LT(rms, scale * 2) << size;
        }
      }
}

}  // namespace
}  // namespace adagp::rtl

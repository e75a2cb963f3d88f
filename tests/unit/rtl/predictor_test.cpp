// The predictor of network programs against the engine's (docs/method.md), written here in double
// precision, and the scale against the RMS.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "adagp/sim/rtl/network_program.h"
#include "arithmetic.h"
#include "rtl/golden.h"

namespace adagp::rtl {
namespace {

constexpr int kBatch = 4, kImage = 16, kWeights = 27, kChannels = 20;
constexpr double kHalfUnit = 1.0 / 512;  // of bfloat16, relative

double number(std::uint32_t sum) {
  return std::bit_cast<float>(sum);
}
std::uint32_t sum_of(double value) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}
std::uint16_t data_of(double value) {
  return narrowed(Format::kBf16, sum_of(value), 0);
}

// One layer with its program, and the weights of a predictor.
class Example {
 public:
  explicit Example(Design design) {
    machine.design = design;
    machine.format = Format::kBf16;
    machine.w_bits = machine.predictor_bits = 13;
    machine.descriptor_bits = 16;
    const Network network{
        "one",
        kBatch,
        {{"conv", 1, kBatch * kImage * kImage, kWeights, kChannels, kImage, kImage, false}}};
    made = make_program(machine, network);
    for (std::vector<double>* part : {&filter, &filter_bias, &dense, &dense_bias}) {
      part->resize(part == &filter        ? 16 * 9
                   : part == &filter_bias ? 16
                   : part == &dense       ? kWeights * 256
                                          : kWeights);
      for (double& x : *part) x = rounded(0.3 * normal(random));
    }
  }

  std::uint32_t& word(Golden& golden, std::int64_t beat, std::int64_t lane) const {
    return golden.outside()[static_cast<std::size_t>(beat * machine.lanes() + lane)];
  }

  // The first transfer of a phase with this many rows (0: any).
  const Descriptor& transfer(Buffer b, std::uint32_t mask, bool store, std::uint32_t rows) const {
    for (const Descriptor& d : made.program)
      if (static_cast<Op>(d.op) == Op::kDma && static_cast<Buffer>(d.kind) == b && d.mask == mask &&
          (d.store != 0) == store && (rows == 0 || d.n0 == rows))
        return d;
    throw std::runtime_error("no such transfer");
  }

  void fill(Golden& golden) {
    std::mt19937 words(3);
    for (std::uint32_t& w : golden.outside())
      w = data_of(normal(words));  // activations, weights of the layer
    const bool own = machine.has_predictor_array();
    const int cols = own ? machine.pred_cols : machine.cols;
    const std::uint32_t exact = bit(Phase::kBp) | bit(Phase::kWarm);
    const std::int64_t base = machine.has_predictor_memory()
                                  ? transfer(Buffer::kPx, exact, false, 0).addr
                                  : transfer(Buffer::kX, bit(Phase::kGp), false, 128).addr;
    const std::int64_t conv_tiles = (27 + cols - 1) / cols, dense_tiles = (257 + cols - 1) / cols;
    for (int f = 0; f < 16; ++f)
      for (int x = 0; x < 8; ++x)
        for (int i = 0; i < conv_tiles * cols; ++i) {
          const int dy = i / 9, column = i % 9, dx = column - x + 1;
          double w = 0;
          if (i < 27 && column == 8) w = dy == 1 ? filter_bias[f] : 0;
          if (i < 27 && column < 8 && dx >= 0 && dx < 3) w = filter[f * 9 + dy * 3 + dx];
          word(golden, base + i / cols * 128 + f * 8 + x, i % cols) = data_of(w);
        }
    for (int j = 0; j < kWeights; ++j)
      for (int c = 0; c < dense_tiles * cols; ++c) {
        const int py = c / 64, f = c / 4 % 16, px = c % 4;
        const double w = c == 256  ? dense_bias[j]
                         : c > 256 ? 0
                                   : dense[j * 256 + f * 16 + py * 4 + px];
        word(golden, base + conv_tiles * 128 + c / cols * kWeights + j, c % cols) = data_of(w);
      }
    const std::uint32_t map = 63 + static_cast<std::uint32_t>(conv_tiles) * cols;
    const std::int64_t constants = transfer(own ? Buffer::kPw : Buffer::kW, exact, false, map).addr;
    for (std::uint32_t row = 0; row <= map; ++row)
      for (int lane = 0; lane < machine.lanes(); ++lane)
        word(golden, constants + row, lane) = data_of(row == map || row % 9 == 8 ? 1 : 0);
  }

  double rounded(double x) const { return number(static_cast<std::uint32_t>(data_of(x)) << 16); }

  Machine machine;
  NetworkProgram made;
  std::mt19937 random{1};
  std::normal_distribution<double> normal;
  std::vector<double> filter, filter_bias, dense, dense_bias;  // [16,3,3], [16], [n,16*4*4], [n]
};

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
        double sum = e.filter_bias[f], of_cells = 0, of_sums = std::fabs(sum);
        for (int t = 0; t < 9; ++t) {
          const int row = r + t / 3 - 1, column = c + t % 3 - 1;
          if (row < 0 || column < 0 || row > 7 || column > 7) continue;
          const double w = e.filter[f * 9 + t];
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
    Predicted p{e.dense_bias[j], 0};
    for (int i = 0; i < 256; ++i) {
      const double w = e.dense[j * 256 + i];
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
    golden.run_batch(e.made.program, Phase::kWarm);  // loads the predictor and its constants
    e.fill(golden);
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
    EXPECT_GT(values, 4 * bounds);  // or every prediction would pass
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

#pragma once
// A network with its program, and the weights of a predictor, for tests.

#include <cmath>
#include <random>
#include <stdexcept>

#include "adagp/sim/rtl/network_program.h"
#include "arithmetic.h"
#include "rtl/golden.h"

namespace adagp::rtl {

constexpr int kBatch = 4, kImage = 16, kWeights = 27, kChannels = 20;
constexpr double kHalfUnit = 1.0 / 256;  // of bfloat16 with its 8 bits, relative

inline double number(std::uint32_t sum) {
  return std::bit_cast<float>(sum);
}
inline std::uint32_t sum_of(double value) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}
inline std::uint16_t data_of(double value) {
  return narrowed(Format::kBf16, sum_of(value), 0);
}

// On an image of this side.
inline LayerProduct convolution(std::int64_t groups, std::int64_t side, std::int64_t k,
                                std::int64_t n) {
  return {"conv", groups, kBatch * side * side, k, n, side, side, false};
}

class Example {
 public:
  explicit Example(Design design,
                   std::vector<LayerProduct> layers = {convolution(1, kImage, kWeights, kChannels)},
                   int rows = 12, int cols = 15)
      : network{"example", kBatch, std::move(layers)} {
    for (const LayerProduct& layer : network.layers) widest = std::max(widest, layer.k);
    machine.rows = rows;
    machine.cols = cols;
    machine.design = design;
    machine.pred_three_modes = design == Design::kMax;
    if (rows < 12) {
      machine.pred_rows = rows - 1;
      machine.pred_cols = cols - 1;
      machine.y_bits = 13;
    }
    machine.format = Format::kBf16;
    machine.w_bits = machine.predictor_bits = 13;
    machine.descriptor_bits = 16;
    made = make_program(machine, network);
    for (std::vector<double>* part : {&filter, &filter_bias, &dense, &dense_bias}) {
      part->resize(part == &filter        ? 16 * 9
                   : part == &filter_bias ? 16
                   : part == &dense       ? widest * 256
                                          : widest);
      for (double& x : *part) x = rounded(0.3 * normal(random));
    }
  }

  // Of the array that runs the predictor.
  int columns() const { return machine.has_predictor_array() ? machine.pred_cols : machine.cols; }

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
    const int cols = columns();
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
    for (std::int64_t j = 0; j < widest; ++j)
      for (int c = 0; c < dense_tiles * cols; ++c) {
        const int py = c / 64, f = c / 4 % 16, px = c % 4;
        const double w = c == 256  ? dense_bias[j]
                         : c > 256 ? 0
                                   : dense[j * 256 + f * 16 + py * 4 + px];
        word(golden, base + conv_tiles * 128 + c / cols * widest + j, c % cols) = data_of(w);
      }
    const std::uint32_t map = 63 + static_cast<std::uint32_t>(conv_tiles) * cols;
    const std::int64_t constants = transfer(own ? Buffer::kPw : Buffer::kW, exact, false, map).addr;
    const auto rows = map + static_cast<std::uint32_t>(dense_tiles * cols - 256);
    for (std::uint32_t row = 0; row < rows; ++row)
      for (int lane = 0; lane < machine.lanes(); ++lane)
        word(golden, constants + row, lane) =
            data_of(row == map || (row < map && row % 9 == 8) ? 1 : 0);
  }

  double rounded(double x) const { return number(static_cast<std::uint32_t>(data_of(x)) << 16); }

  Network network;
  std::int64_t widest = 0;  // of a filter
  Machine machine;
  NetworkProgram made;
  std::mt19937 random{1};
  std::normal_distribution<double> normal;
  std::vector<double> filter, filter_bias, dense, dense_bias;  // [16,3,3], [16], [n,16*4*4], [n]
};

}  // namespace adagp::rtl

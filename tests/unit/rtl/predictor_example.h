#pragma once
// A network with its program, and the weights of a predictor, for tests.

#include <cmath>
#include <random>
#include <stdexcept>

#include "rtl/golden.h"
#include "rtl/predictor_places.h"

namespace adagp::rtl {

constexpr int kBatch = 4, kImage = 16, kWeights = 27, kChannels = 20;
constexpr double kHalfUnit = 1.0 / 256;  // of bfloat16 with its 8 bits, relative

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
    const auto n = static_cast<std::size_t>(widest);
    start = {std::vector<double>(16 * 9), std::vector<double>(16), std::vector<double>(n * 256),
             std::vector<double>(n)};
    for (std::vector<double>* part :
         {&start.filter, &start.filter_bias, &start.dense, &start.dense_bias})
      for (double& x : *part) x = rounded(0.3 * normal(random));
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
    PredictorPlaces(machine, network).write(golden.outside(), start);
  }

  double rounded(double x) const { return number(static_cast<std::uint32_t>(data_of(x)) << 16); }

  Network network;
  std::int64_t widest = 0;  // of a filter
  Machine machine;
  NetworkProgram made;
  std::mt19937 random{1};
  std::normal_distribution<double> normal;
  PredictorStart start;
};

}  // namespace adagp::rtl

#pragma once
// Where the numbers of a learning predictor lie in the outside memory, and what the host writes
// there before a run: weights, and the constants that the program's products need.

#include <cstdint>
#include <vector>

#include "adagp/sim/rtl/layer_program.h"
#include "adagp/sim/rtl/predictor_step.h"
#include "arithmetic.h"

namespace adagp::rtl {

inline double number(std::uint32_t sum) {
  return std::bit_cast<float>(sum);
}
inline std::uint32_t sum_of(double value) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}
inline std::uint16_t data_of(double value) {
  return narrowed(Format::kBf16, sum_of(value), 0);
}

// The engine's layouts: [16,3,3], [16], [n,16*4*4], [n] for the widest filter of n weights.
struct PredictorStart {
  std::vector<double> filter, filter_bias, dense, dense_bias;
};

class PredictorPlaces {
 public:
  PredictorPlaces(const Machine& machine, const Network& network)
      : machine_(machine),
        at_(machine, network, outside_),
        step_(behind_layers(network)),
        widest_(at_.dense.outputs) {}
  PredictorPlaces(const PredictorPlaces&) = delete;  // the step points to the machine here

  const Memories& at() const { return at_; }
  const PredictorStep& step() const { return step_; }
  // Of the array that runs the predictor.
  int columns() const {
    return machine_.has_predictor_array() ? machine_.pred_cols : machine_.cols;
  }

  // The matrix' input in this lane of the tiles of inputs, or -1.
  int input_at(int lane) const {
    const int lanes = static_cast<int>(step_.tile_lanes), at = lane % lanes;
    return at < columns() ? lane / lanes * columns() + at : -1;
  }
  // Of the matrix' input i at this column of the map: which of a filter's 9 weights, 9 for the
  // bias, or -1.
  static int input(int i, int column) {
    if (i < 0 || i >= 27) return -1;
    if (i % 9 == 8) return i == 17 ? 9 : -1;
    const int dx = i % 9 - column + 1;
    return dx >= 0 && dx < 3 ? i / 9 * 3 + dx : -1;
  }
  // Rows of W hold COLS inputs as groups of ROWS lanes.
  std::int64_t lane_of(int i, int cols) const { return i % cols % machine_.rows; }
  std::int64_t filter_beat(std::int64_t base, int f, int t) const {
    const std::int64_t group = t / machine_.cols * step_.groups + t % machine_.cols / machine_.rows;
    return base + group * 16 + f;
  }
  // The step takes 1024 weights at once.
  std::int64_t dense_beat(std::int64_t base, std::int64_t j, int i) const {
    const std::int64_t first = j / 1024 * 1024,
                       rows = std::min<std::int64_t>(1024, widest_ - first), tile = i / columns(),
                       group = i % columns() / machine_.rows;
    return base + step_.dense_groups * (tile * widest_ + first) + group * rows + j - first;
  }

  // Weights, with their velocities 0, and constants. The weights must be numbers of bfloat16.
  void write(std::vector<std::uint32_t>& outside, const PredictorStart& weights) const {
    const auto word = [&](std::int64_t beat, std::int64_t lane) -> std::uint32_t& {
      return outside[static_cast<std::size_t>(beat * machine_.lanes() + lane)];
    };
    const auto lanes = static_cast<int>(machine_.lanes());
    const int cols = columns(), conv_inputs = static_cast<int>(at_.conv.tiles) * cols,
              dense_inputs = static_cast<int>(at_.dense.tiles) * cols;
    const auto of_filter = [&](int f, int t) {
      return t < 9 ? weights.filter[f * 9 + t] : weights.filter_bias[f];
    };
    const auto of_dense = [&](std::int64_t j, int i) {
      const int row = i / 64, map = i / 4 % 16, column = i % 4;
      return i == 256  ? weights.dense_bias[j]
             : i > 256 ? 0
                       : weights.dense[j * 256 + map * 16 + row * 4 + column];
    };
    for (std::int64_t beat = step_.filters.precise; beat < step_.selections; ++beat)
      for (int lane = 0; lane < lanes; ++lane) word(beat, lane) = 0;
    for (int f = 0; f < 16; ++f) {
      for (int column = 0; column < 8; ++column)
        for (int i = 0; i < conv_inputs; ++i) {
          const int t = input(i, column);
          word(at_.conv.beat(i / cols, f * 8 + column), i % cols) =
              data_of(t < 0 ? 0 : of_filter(f, t));
        }
      for (int t = 0; t < 10; ++t)
        word(filter_beat(step_.filters.precise, f, t), lane_of(t, machine_.cols)) =
            sum_of(of_filter(f, t));
    }
    for (std::int64_t j = 0; j < widest_; ++j)
      for (int i = 0; i < dense_inputs; ++i) {
        word(at_.dense.beat(i / cols, j), i % cols) = data_of(of_dense(j, i));
        if (i < 257)
          word(dense_beat(step_.dense.precise, j, i), lane_of(i, cols)) = sum_of(of_dense(j, i));
      }
    // A map without cells, a row of ones, rows of zeros.
    const std::int64_t rows = at_.cell_rows + at_.feature_rows - kFeatures;
    for (std::int64_t row = 0; row < rows; ++row)
      for (int lane = 0; lane < lanes; ++lane)
        word(at_.constants + row, lane) = data_of(
            row == at_.cell_rows || (row < at_.cell_rows && row % kMapRow == kSide) ? 1 : 0);
    std::int64_t beat = step_.selections;
    const int inputs = static_cast<int>(at_.conv.tiles * step_.tile_lanes);
    for (int column = 0; column < 8; ++column)
      for (int first = 0; first < inputs; first += machine_.rows)
        for (int t = 0; t < pieces(10, machine_.cols) * machine_.cols; ++t, ++beat)
          for (int lane = 0; lane < lanes; ++lane)
            word(beat, lane) =
                data_of(lane < machine_.rows && input(input_at(first + lane), column) == t ? 1 : 0);
  }

 private:
  // The step's numbers lie behind those of all layers.
  PredictorStep behind_layers(const Network& network) {
    for (std::size_t l = 0; l < network.layers.size(); ++l)
      LayerProgram(machine_, at_, network, l, outside_);
    return {machine_, at_, outside_};
  }

  Machine machine_;
  Outside outside_;
  Memories at_;
  PredictorStep step_;
  std::int64_t widest_;
};

}  // namespace adagp::rtl

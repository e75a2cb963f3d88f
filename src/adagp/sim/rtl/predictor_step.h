#pragma once
// What the predictor does with its gradients at the end of an exact batch, on the main array and
// the vector unit. Torch-free.
//
// SGD with momentum on the vector unit: v = v - v / 8 + g, w = w - v / 2^b. Weights in full
// precision and velocities lie outside in rows of W, of which groups of COLS lanes are several.
// The convolution's weights are a matrix with each filter eight times, one for each column. The
// gradient of a filter is a sum over this matrix, and the matrix is made of the new filters: both
// are products with matrices of zeros and ones (`selections`), forward and backward. On design max,
// gradients and weights come and go by the outside memory, in rows of the second array's columns.

#include "adagp/sim/rtl/program_parts.h"

namespace adagp::rtl {

class PredictorStep {
 public:
  PredictorStep(const Machine& machine, const Memories& memories, Outside& outside);

  Program program() const;

  // A filter with its bias.
  static constexpr std::int64_t kFilter = 10;
  // b: the dense layer's. The convolution's gradient is a sum over all weights of a prediction, so
  // its step is smaller by their number.
  static constexpr std::uint32_t kStepShift = 8;

  // Outside. Filters and dense weights: groups of rows, for each tile of COLS inputs.
  struct Weights {
    std::int64_t precise = 0, velocities = 0;
  };
  Weights filters, dense;
  // For each column of the map, tile of the matrix' inputs (ROWS lanes) and tile of a filter's
  // inputs: COLS rows.
  std::int64_t selections = 0;
  std::int64_t groups;        // rows of W for a row of X
  std::int64_t dense_groups;  // of which so many have weights of the dense layer
  // Of the lanes in tiles of the matrix' inputs, those from i * tile_lanes on are tile i of the
  // convolution: on max, each tile begins a row.
  std::int64_t tile_lanes;

 private:
  // SGD with the gradients in rows of D from `from` on, of so many groups: the new weights are in X
  // from row `to` on.
  void step(Program& out, std::int64_t rows, std::int64_t number, std::int64_t from,
            std::int64_t to, const Weights& weights, std::int64_t beat, std::uint32_t shift) const;
  void step_filters(Program& out) const;
  void step_dense(Program& out) const;
  // A product with the selections of each column and tile of the matrix' inputs.
  template <typename Add>
  void select(Program& out, const Add& add) const;

  const Machine& machine_;
  const Memories& at_;
  std::int64_t input_tiles_, filter_tiles_, x_groups_;
};

}  // namespace adagp::rtl

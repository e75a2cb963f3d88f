#pragma once
// The program of one layer, of which network_program.cpp makes that of a network. Torch-free.

#include <bit>

#include "adagp/sim/rtl/program_parts.h"

namespace adagp::rtl {

// One layer's part of the program. Tiles read one half of X, G and W while the DMA fills the other.
class LayerProgram {
 public:
  LayerProgram(const Machine& machine, const Memories& memories, const Network& network,
               size_t index, Outside& outside);
  // The forward product with its activation; the predictor's summary, and its work in GP batches.
  Program forward();
  // The input gradient, the weight gradient and the update; what the predictor learns.
  Program backward();
  // design max: what the second array does for this layer, beside the next one, in GP batches and
  // in the backward pass.
  Program beside();
  Program learn_beside();
  // The predictor's gradients have so many rows from layers whose backward part comes before (0:
  // none, this layer begins them).
  void learn_behind(std::int64_t rows) { begun_ = rows; }

 private:
  // Rows of the chunk at hand: the last one may be shorter.
  std::int64_t rows_now() const { return std::min(rows_, layer_.m - chunk_ * rows_); }
  Descriptor load_inputs(std::uint32_t mask, std::int64_t row, std::int64_t k_tile,
                         std::int64_t rows) {
    return load(mask, Buffer::kX, row, rows,
                inputs_ + (group_ * k_tiles_ + k_tile) * layer_.m + chunk_ * rows_);
  }
  Descriptor load_gradients(std::int64_t row, std::int64_t n_tile) {
    return load(kExactPhases, Buffer::kG, row, rows_now(),
                gradients_ + (group_ * n_tiles_ + n_tile) * layer_.m + chunk_ * rows_);
  }
  // In the order of groups, tiles of outputs, tiles of inputs.
  std::int64_t weight_row(std::int64_t n_tile, std::int64_t k_tile) const {
    return ((group_ * n_tiles_ + n_tile) * k_tiles_ + k_tile) * machine_.cols;
  }
  Descriptor load_weights(std::uint32_t mask, std::int64_t row, std::int64_t n_tile,
                          std::int64_t k_tile) {
    return load(mask, Buffer::kW, row, machine_.cols, weights_ + weight_row(n_tile, k_tile));
  }

  // Groups of COLS channels that the activations of these tiles reach in X.
  std::int64_t x_groups(std::int64_t first, std::int64_t count) const {
    return groups_reached(first, count, machine_.rows, machine_.cols);
  }
  // Groups of ROWS channels that the input gradients of these tiles reach in G.
  std::int64_t g_groups(std::int64_t first, std::int64_t count) const {
    return groups_reached(first, count, machine_.cols, machine_.rows);
  }

  // Adds to a stage one product of `rows_now()` rows with a tile of weights, and the transfer of
  // these weights; `turn` 0 begins the sums, later ones add to them. The caller sets where the
  // rows are.
  Descriptor& add_product(Stage& stage, Descriptor product, std::int64_t turn, std::int64_t t,
                          std::int64_t n_tile, std::int64_t k_tile);
  // Where channels that come in tiles of `from` begin among groups of `to`, for tile first + t of a
  // range that begins at `first`.
  struct Regrouped {
    std::int64_t row, rotation;
  };
  Regrouped regrouped(std::int64_t first, std::int64_t t, std::int64_t from, std::int64_t to) const;

  std::int64_t tiles_at_once(std::int64_t first) const;
  void forward_group(Program& out, std::int64_t first, std::int64_t count);
  void input_gradient(Program& out);
  void input_gradient_group(Program& out, std::int64_t first, std::int64_t count);
  // One tile of outputs: gradients of as many tiles of inputs as O holds, then their update.
  void weight_gradient(Program& out, std::int64_t n_tile);
  // Weights in full precision and velocities come in, move, and go out with the rounded weights.
  // The layer's scale comes before the first update and is stored behind the last exact one.
  void update(Program& out, std::uint32_t mask, VecKind kind, std::int64_t rows, std::int64_t from,
              std::int64_t offset = 0);

  // Of a tile of outputs, lanes that have one.
  std::int64_t filters_of(std::int64_t n_tile) const {
    return std::min<std::int64_t>(machine_.rows, layer_.n - n_tile * machine_.rows);
  }
  // The mean over all channels counts in an error, or what is nearly one.
  std::uint32_t mean_shift() const {
    return static_cast<std::uint32_t>(
               std::bit_width(static_cast<std::uint64_t>(layer_.groups * layer_.n))) -
           1;
  }
  std::int64_t channel_tiles() const { return layer_.groups * n_tiles_; }
  std::int64_t channel_tile(std::int64_t n_tile) const { return group_ * n_tiles_ + n_tile; }

  // The predictor; in layer_predictor.cpp.

  // The mean of the output over the batch and over windows: kSide x kSide cells of each channel.
  // Pixels that fill no whole window are left out; the divisor is the next lower power of two. A
  // smaller side's pixels stand in several cells.
  void summary(Program& out, std::int64_t n_tile, std::int64_t y);
  // The tiles of the convolution, a row of the map after the other.
  template <typename Add>
  void convolution(std::uint32_t mask, const Add& add) const;
  // ReLU and means of 2x2.
  Descriptor pool(std::uint32_t mask, ReorgKind kind, std::int64_t from, std::int64_t to) const;
  // Outputs from j on, at most `most`: all of them in the predictor's memory, or none.
  std::int64_t predicted_at_once(std::int64_t j, std::int64_t most) const;
  // low, efficient: convolution, gradient and update of one tile of channels, on the main array.
  void predict_tile(Program& out, std::int64_t n_tile);
  // The convolution of the cells in W, its sums in Y from row `y` on, and the features of it in W.
  void make_features(Program& out, std::uint32_t mask, std::int64_t y);
  // Y[outputs] = dense weights * features, tile by tile, for the outputs from `first` on.
  void dense_product(Program& out, std::uint32_t mask, std::int64_t outputs, std::int64_t first);
  // `count` channels from `first`, a whole number of tiles of both arrays.
  void predict_block(Program& out, std::int64_t first, std::int64_t count);
  // The convolution of the cells in PW, its sums in PY from row `y` on, and the features of it.
  void beside_features(Program& out, std::uint32_t mask, std::int64_t cells, std::int64_t y,
                       std::int64_t features);
  void beside_product(Program& out, std::uint32_t mask, std::int64_t outputs, std::int64_t first,
                      std::int64_t features);
  // Gives a tile the dense weights of its outputs from `first` on, or loads them: turns take two
  // halves of PX.
  void beside_weights(Program& out, Descriptor& tile, std::int64_t kt, std::int64_t first,
                      std::int64_t turn) const;
  std::int64_t beside_features_at(std::int64_t q) const {
    return at_.hidden_features + q * at_.feature_rows;
  }

  // low, efficient: what the predictor learns from this layer; in layer_learning.cpp. For each tile
  // of channels: features again, from the cells that the forward pass kept; errors of the
  // predictions against the true gradient in O; gradients of the features, and with these of the
  // convolution. Then, for all channels together, gradients of the dense layer.
  void keep_cells(Program& out, std::int64_t n_tile);
  void learn_begin(Program& out);
  void learn_forward(Program& out, std::int64_t n_tile);
  void learn_errors(Program& out, std::int64_t n_tile, std::int64_t first, std::int64_t rows);
  void learn_features(Program& out, std::int64_t n_tile);
  void learn_convolution(Program& out, std::int64_t n_tile);
  void learn_dense(Program& out);
  // Both arrays. A quarter of the features' gradients from row `from` on where the convolution's
  // sums from row `y` on are positive, in rows from `to` on.
  void slopes(Program& out, std::int64_t from, std::int64_t y, std::int64_t to) const;
  // Slopes from row `from` on times the cells from row `cells` on.
  void convolution_gradient(Program& out, std::int64_t cells, std::int64_t from, bool first) const;

  // max: what the second array learns from this layer, whose gradients the main array has stored;
  // in beside_learning.cpp. A block is a whole number of tiles of both arrays, of `tiles` and
  // `groups`; `first` is its first channel.
  struct Block {
    std::int64_t first, tiles, groups;
  };
  // Outputs from j on: predictions, and from them and the true gradients the errors in PG.
  void beside_errors(Program& out, const Block& block, std::int64_t j, std::int64_t rows);
  // Gradients of the dense layer, in PD.
  void beside_dense(Program& out, const Block& block, std::int64_t j, std::int64_t rows);
  // Gradients of the features of tile q, in PO.
  void beside_feature_gradient(Program& out, const Block& block, std::int64_t q);
  // Outputs from j on that the predictor learns from at once.
  std::int64_t learned_at_once(std::int64_t j) const;
  // PG holds all errors of a block.
  bool errors_stay() const { return layer_.k <= at_.learned_rows(); }
  std::int64_t error_stride() const { return std::min(layer_.k, at_.learned_rows()); }
  std::int64_t errors_row(std::int64_t q, std::int64_t j) const {
    return q * error_stride() + (errors_stay() ? j : 0);
  }
  std::int64_t pred_channel_tiles() const {
    return pieces(channel_tiles() * machine_.rows, machine_.pred_rows);
  }

  const Machine& machine_;
  const Memories& at_;
  const Network& network_;
  const LayerProduct& layer_;
  bool odd_;  // layers take turns in the memory of pooled outputs
  Outside& outside_;
  std::int64_t k_tiles_, n_tiles_, rows_, chunks_;
  // Places outside, in beats.
  std::int64_t inputs_, gradients_, weights_ = 0, precise_ = 0, velocities_ = 0, scale_ = 0;
  std::int64_t cells_ = 0, features_ = 0, errors_ = 0;  // of each tile of channels
  std::int64_t true_gradients_ = 0;                     // max: in the layout of the weights
  std::int64_t begun_ = 0;
  std::int64_t group_ = 0, chunk_ = 0;  // at hand
};

}  // namespace adagp::rtl

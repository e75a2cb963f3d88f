// max: what the predictor learns from one layer in an exact batch, on the second array. The main
// array has stored the layer's true gradients; its memories that stand here are free in a backward
// pass: Y, the rows of O and P that no update uses.
#include "adagp/sim/rtl/layer_program.h"

namespace adagp::rtl {
namespace {

constexpr std::int64_t kScaleRow = 0;  // of P

}  // namespace

Program LayerProgram::learn_beside() {
  Program out;
  // The scale has moved with this batch's gradient.
  out.push_back(waits(load(kExactPhases, Buffer::kP, kScaleRow, 1, scale_), kNotMain));
  const std::int64_t filters = channel_tiles() * machine_.rows,
                     whole = at_.block_groups * machine_.rows;
  for (std::int64_t first = 0; first < filters; first += whole) {
    const std::int64_t count = std::min(whole, filters - first);
    const Block block{first, pieces(count, machine_.pred_rows), count / machine_.rows};
    const std::int64_t tile = first / machine_.pred_rows, cells = at_.pooled(tile, odd_);
    out.push_back(waits(load(kExactPhases, Buffer::kPw, cells, block.tiles * at_.cell_rows,
                             cells_ + tile * at_.cell_rows),
                        kNotMain));
    const size_t begin = out.size();
    for (std::int64_t q = 0; q < block.tiles; ++q)
      beside_features(out, kExactPhases, cells + q * at_.cell_rows, at_.beside_hidden(q),
                      beside_features_at(q));
    out[begin].wait = kNotMain;  // for the cells
    for (std::int64_t j = 0, rows = 0; j < layer_.k; j += rows) {
      rows = learned_at_once(j);
      beside_errors(out, block, j, rows);
      beside_dense(out, block, j, rows);
    }
    for (std::int64_t q = 0; q < block.tiles; ++q) {
      beside_feature_gradient(out, block, q);
      const std::int64_t map = cells + q * at_.cell_rows;
      if (!at_.hidden_stays())
        beside_features(out, kExactPhases, map, at_.beside_hidden(q), beside_features_at(q));
      slopes(out, 0, at_.beside_hidden(q), at_.slopes());
      convolution_gradient(out, map, at_.slopes(), begun_ == 0 && tile + q == 0);
    }
  }
  return out;
}

std::int64_t LayerProgram::learned_at_once(std::int64_t j) const {
  const std::int64_t rows = predicted_at_once(j, at_.learned_rows());
  return j < begun_ ? std::min(rows, begun_ - j) : rows;
}

void LayerProgram::beside_errors(Program& out, const Block& block, std::int64_t j,
                                 std::int64_t rows) {
  const std::int64_t tile_rows = k_tiles_ * machine_.cols, main_tile = block.first / machine_.rows;
  for (std::int64_t g = 0; g < block.groups; ++g)
    out.push_back(waits(load(kExactPhases, Buffer::kO, g * rows, rows,
                             true_gradients_ + (main_tile + g) * tile_rows + j),
                        kAllEngines));
  for (std::int64_t q = 0; q < block.tiles; ++q) {
    beside_product(out, kExactPhases, rows, j, beside_features_at(q));
    const std::int64_t channel = q * machine_.pred_rows;
    Descriptor d = vec(kExactPhases, VecKind::kGradient, rows, kNotMainNorDma);
    d.psrc = 1;
    d.xb = narrow(channel / machine_.rows * rows);
    d.rot = narrow(channel % machine_.rows);
    d.gs = narrow(rows);
    out.push_back(d);
  }
  // Lanes of the last tile behind the last group have no error, too.
  for (std::int64_t g = 0; g * machine_.rows < block.tiles * machine_.pred_rows; ++g) {
    const std::int64_t channel = g * machine_.rows;
    Descriptor d = vec(kExactPhases, VecKind::kError, rows, kNotMain);
    d.bias = 1;
    d.wb = narrow(kScaleRow);
    d.xb = d.yb = narrow(g * rows);
    d.s3 = narrow(errors_row(channel / machine_.pred_rows, j));
    d.rot = narrow(channel % machine_.pred_rows);
    d.gs = narrow(error_stride());
    d.addr = g < block.groups ? narrow(filters_of((main_tile + g) % n_tiles_)) : 0;
    d.shift_a = mean_shift();
    out.push_back(d);
  }
  if (errors_stay()) return;
  for (std::int64_t q = 0; q < block.tiles; ++q)
    out.push_back(waits(store(kExactPhases, Buffer::kPg, errors_row(q, j), rows,
                              errors_ + (block.first / machine_.pred_rows + q) * layer_.k + j),
                        kNotMain));
}

void LayerProgram::beside_dense(Program& out, const Block& block, std::int64_t j,
                                std::int64_t rows) {
  const bool kept = at_.dense.holds(j, rows);
  for (std::int64_t kt = 0; kt < at_.dense.tiles; ++kt) {
    const std::int64_t sums = at_.dense_gradients + kt * at_.dense.outputs + j,
                       row = kept ? at_.dense.in_memory(kt, j) : at_.streamed;
    if (!kept && (j < begun_ || block.first > 0))
      out.push_back(waits(load(kExactPhases, Buffer::kPd, row, rows, sums), kNotMain));
    for (std::int64_t q = 0; q < block.tiles; ++q) {
      Descriptor d = beside_tile(kExactPhases, Mode::kDx, rows);
      if (!kept || !errors_stay()) d.wait = kNotMain;
      d.load_w = 1;
      d.acc_in = j < begun_ || block.first + q > 0;
      d.xb = narrow(row);
      d.yb = narrow(errors_row(q, j));
      d.wb = narrow(beside_features_at(q) + kt * machine_.pred_cols);
      out.push_back(d);
    }
    if (!kept) out.push_back(waits(store(kExactPhases, Buffer::kPd, row, rows, sums), kNotMain));
  }
}

void LayerProgram::beside_feature_gradient(Program& out, const Block& block, std::int64_t q) {
  std::int64_t turn = 0;
  for (std::int64_t kt = 0; kt < at_.dense.tiles; ++kt)
    for (std::int64_t j = 0, rows = 0; j < layer_.k; j += rows, ++turn) {
      rows = predicted_at_once(j, at_.learned_rows());
      Descriptor d = beside_tile(kExactPhases, Mode::kDw, rows);
      d.clear = j == 0;
      d.drain = j + rows == layer_.k;
      d.yb = narrow(errors_row(errors_stay() ? q : turn % 2, j));
      d.wb = narrow(kt * machine_.pred_cols);
      beside_weights(out, d, kt, j, turn);
      if (!errors_stay()) {
        // As for the weights; the tiles that read PG before are over in front of the first turn.
        out.push_back(waits(load(kExactPhases, Buffer::kPg, d.yb, rows,
                                 errors_ + (block.first / machine_.pred_rows + q) * layer_.k + j),
                            turn == 0 ? kNotMain : 0));
        d.wait |= bit(Engine::kDma);
      }
      out.push_back(d);
    }
}

}  // namespace adagp::rtl

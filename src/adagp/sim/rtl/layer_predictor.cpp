// What GP batches do for one layer: summary, the predictor and its updates.
#include <array>
#include <bit>

#include "adagp/sim/rtl/layer_program.h"

namespace adagp::rtl {
namespace {

// Pixels along a side whose mean is one cell.
struct Window {
  std::int64_t first, size;
};

std::array<Window, kSide> windows(std::int64_t side) {
  std::array<Window, kSide> out{};
  for (std::int64_t i = 0; i < kSide; ++i)
    out[i] = side < kSide ? Window{i * side / kSide, 1} : Window{i * (side / kSide), side / kSide};
  return out;
}

}  // namespace

Program LayerProgram::beside() {
  Program out;
  const std::int64_t filters = layer_.groups * n_tiles_ * machine_.rows;
  const std::int64_t block = std::lcm(machine_.rows, machine_.pred_rows);
  for (std::int64_t first = 0; first < filters; first += block) {
    predict_block(out, first, std::min(block, filters - first));
  }
  return out;
}

void LayerProgram::summary(Program& out, std::int64_t n_tile, std::int64_t y) {
  const auto high = windows(layer_.height), wide = windows(layer_.width);
  Descriptor d =
      descriptor(Op::kReorg, machine_.learns() ? kEveryPhase : kPredictedPhase, kAllEngines);
  d.kind = static_cast<std::uint32_t>(ReorgKind::kYToW);
  d.n0 = narrow(wide[0].size);
  d.n1 = narrow(high[0].size);
  d.n2 = narrow(network_.batch);
  d.s0 = 1;
  d.s1 = narrow(layer_.width);
  d.s2 = narrow(layer_.width * layer_.height);
  d.shift_a = narrow(std::bit_width(d.rows()) - 1);
  std::int64_t cells = at_.features;
  if (machine_.has_predictor_array()) {
    const std::int64_t channel = (group_ * n_tiles_ + n_tile) * machine_.rows;
    cells = at_.pooled(channel / machine_.pred_rows, odd_);
    d.psrc = 1;
    d.rot = narrow(channel % machine_.pred_rows);
    d.gs = narrow(at_.cell_rows);
  }
  // A row of cells is one descriptor, with steps of a window, or with each pixel several times in
  // turn; where neither fits, each cell is one.
  const bool steps = layer_.width >= kSide, repeats = kSide % layer_.width == 0;
  const std::int64_t pieces_of_row = steps || repeats ? 1 : kSide;
  d.addr = 1 | 1 << 16;
  if (steps) {
    d.addr = narrow(kSide) | 1 << 16;
    d.xb = narrow(wide[0].size);
  } else if (repeats) {
    d.addr = narrow(kSide / layer_.width) | narrow(layer_.width) << 16;
    d.s3 = 1;
  }
  for (std::int64_t row = 0; row < kSide; ++row) {
    for (std::int64_t column = 0; column < pieces_of_row; ++column) {
      d.yb = narrow(y + high[row].first * layer_.width + wide[column].first);
      d.wb = narrow(cells + (row + 1) * kMapRow + column);
      out.push_back(d);
    }
  }
}

template <typename Add>
void LayerProgram::convolution(std::uint32_t mask, const Add& add) const {
  for (std::int64_t row = 0; row < kSide; ++row) {
    for (std::int64_t kt = 0; kt < at_.conv.tiles; ++kt) {
      Descriptor d = tile(mask, Mode::kForward, kConvRows);
      d.load_w = 1;
      d.acc_in = kt > 0;
      d.yb = narrow(row * kConvRows);
      d.wb = narrow(row * kMapRow);
      add(d, kt);
    }
  }
}

Descriptor LayerProgram::pool(std::uint32_t mask, ReorgKind kind, std::int64_t from,
                              std::int64_t to) const {
  Descriptor d =
      descriptor(Op::kReorg, mask, kind == ReorgKind::kPyToPw ? kNotMainNorDma : kAllEngines);
  d.kind = static_cast<std::uint32_t>(kind);
  d.relu = 1;
  d.n0 = d.n1 = 2;
  d.n2 = d.s0 = 1;
  d.s1 = narrow(kConvRows);
  // Along a row of windows, the columns of one map lie before those of the next.
  d.addr = narrow(kConvRows / 2) | narrow(kSide / 2) << 16;
  d.xb = 2;
  d.s3 = narrow(2 * kConvRows);
  d.shift_a = 2;
  d.yb = narrow(from);
  d.wb = narrow(to);
  return d;
}

std::int64_t LayerProgram::predicted_at_once(std::int64_t j, std::int64_t most) const {
  const std::int64_t rows = std::min(most, layer_.k - j), kept = at_.dense.kept;
  return j < kept ? std::min(rows, kept - j) : rows;
}

void LayerProgram::make_features(Program& out, std::uint32_t mask, std::int64_t y) {
  // An exact batch may be the first one, when the predictor's memory is still empty.
  const bool own = machine_.has_predictor_memory() && mask == kPredictedPhase;
  Stage stage;
  for (std::int64_t kt = 0; kt < at_.conv.tiles && !own; ++kt)
    stage.loads.push_back(load(mask, Buffer::kX, kt * kConvRows, kConvRows, at_.conv.beat(kt, 0)));
  convolution(mask, [&](Descriptor d, std::int64_t kt) {
    d.psrc = own;
    d.xb = narrow(d.psrc ? at_.conv.in_memory(kt, 0) : kt * kConvRows);
    d.yb += narrow(y);
    d.wb += narrow(at_.features + kt * machine_.cols);
    stage.tiles.push_back(d);
  });
  std::vector<Stage> stages{std::move(stage)};
  emit(out, stages);
  out.push_back(pool(mask, ReorgKind::kYToW, y, at_.features + at_.cell_rows));
}

void LayerProgram::predict_tile(Program& out, std::int64_t n_tile) {
  make_features(out, kPredictedPhase, at_.y_rows - kPredictedRows);
  for (std::int64_t j = 0, count = 0; j < layer_.k; j += count) {
    count = predicted_at_once(j, kPredictedRows);
    dense_product(out, kPredictedPhase, count, j);
    update(out, kPredictedPhase, VecKind::kSgdPred, count, weight_row(n_tile, 0) + j);
  }
}

void LayerProgram::dense_product(Program& out, std::uint32_t mask, std::int64_t outputs,
                                 std::int64_t first) {
  const bool kept =
      machine_.has_predictor_memory() && mask == kPredictedPhase && at_.dense.holds(first, outputs);
  std::vector<Stage> stages;
  for (std::int64_t kt = 0; kt < at_.dense.tiles; ++kt) {
    Stage stage;
    Descriptor d = tile(mask, Mode::kForward, outputs);
    d.load_w = 1;
    d.acc_in = kt > 0;
    d.yb = narrow(at_.y_rows - kPredictedRows);
    d.wb = narrow(at_.features + at_.cell_rows + kt * machine_.cols);
    if (kept) {
      d.psrc = 1;
      d.xb = narrow(at_.dense.in_memory(kt, first));
    } else {
      d.xb = narrow(kt % 2 * at_.x_half);
      stage.loads.push_back(
          load(mask, Buffer::kX, kt % 2 * at_.x_half, outputs, at_.dense.beat(kt, first)));
    }
    stage.tiles.push_back(d);
    stages.push_back(std::move(stage));
  }
  emit(out, stages);
}

void LayerProgram::predict_block(Program& out, std::int64_t first, std::int64_t count) {
  const std::int64_t tiles = pieces(count, machine_.pred_rows),
                     groups = pieces(count, machine_.rows);
  for (std::int64_t q = 0; q < tiles; ++q) {
    beside_features(out, kPredictedPhase, at_.pooled(first / machine_.pred_rows + q, odd_), 0,
                    beside_features_at(q));
  }
  const std::int64_t most = std::min<std::int64_t>(kPredictedRows, at_.update_rows / (groups + 1));
  for (std::int64_t j = 0, rows = 0; j < layer_.k; j += rows) {
    rows = predicted_at_once(j, most);
    for (std::int64_t q = 0; q < tiles; ++q) {
      beside_product(out, kPredictedPhase, rows, j, beside_features_at(q));
      const std::int64_t channel = q * machine_.pred_rows;
      Descriptor d = vec(kPredictedPhase, VecKind::kGradient, rows, kNotMainNorDma);
      d.xb = narrow(at_.update_first + channel / machine_.rows * rows);
      d.rot = narrow(channel % machine_.rows);
      d.gs = narrow(rows);
      out.push_back(d);
    }
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t tile_rows = k_tiles_ * machine_.cols;
      update(out, kPredictedPhase, VecKind::kSgd, rows, (first / machine_.rows + g) * tile_rows + j,
             g * rows);
    }
  }
}

void LayerProgram::beside_features(Program& out, std::uint32_t mask, std::int64_t cells,
                                   std::int64_t y, std::int64_t features) {
  convolution(mask, [&](Descriptor d, std::int64_t kt) {
    d.op = static_cast<std::uint32_t>(Op::kPtile);
    d.wait = kNotMainNorDma;
    d.xb = narrow(at_.conv.in_memory(kt, 0));
    d.yb += narrow(y);
    d.wb += narrow(cells + kt * machine_.pred_cols);
    out.push_back(d);
  });
  out.push_back(pool(mask, ReorgKind::kPyToPw, y, features));
}

void LayerProgram::beside_product(Program& out, std::uint32_t mask, std::int64_t outputs,
                                  std::int64_t first, std::int64_t features) {
  for (std::int64_t kt = 0; kt < at_.dense.tiles; ++kt) {
    Descriptor d = beside_tile(mask, Mode::kForward, outputs);
    d.load_w = 1;
    d.acc_in = kt > 0;
    d.wb = narrow(features + kt * machine_.pred_cols);
    beside_weights(out, d, kt, first, kt);
    out.push_back(d);
  }
}

void LayerProgram::beside_weights(Program& out, Descriptor& d, std::int64_t kt, std::int64_t first,
                                  std::int64_t turn) const {
  if (at_.dense.holds(first, d.n0)) {
    d.xb = narrow(at_.dense.in_memory(kt, first));
    return;
  }
  // The half's last reader is the tile before the one that runs now; in front of the first turn a
  // unit has waited for the second array.
  const std::int64_t half = at_.streamed + turn % 2 * kPredictedRows;
  out.push_back(load(d.mask, Buffer::kPx, half, d.n0, at_.dense.beat(kt, first)));
  d.xb = narrow(half);
  d.wait |= bit(Engine::kDma);
}

}  // namespace adagp::rtl

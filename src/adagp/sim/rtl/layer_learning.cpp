// low, efficient: what the predictor learns from one layer in an exact batch.
#include "adagp/sim/rtl/layer_program.h"

namespace adagp::rtl {

void LayerProgram::keep_cells(Program& out, std::int64_t n_tile) {
  out.push_back(store(kExactPhases, Buffer::kW, at_.features, at_.cell_rows,
                      cells_ + channel_tile(n_tile) * at_.cell_rows));
}

void LayerProgram::learn_begin(Program& out) {
  if (begun_ == 0) return;
  out.push_back(load(kExactPhases, Buffer::kD, 0, at_.conv.tiles * kConvRows, at_.conv_gradients));
  out.back().wait = kAllEngines;
}

void LayerProgram::learn_forward(Program& out, std::int64_t n_tile) {
  out.push_back(load(kExactPhases, Buffer::kW, at_.features, at_.cell_rows,
                     cells_ + channel_tile(n_tile) * at_.cell_rows));
  out.back().wait = kAllEngines;
  make_features(out, kExactPhases, at_.hidden());
  out.push_back(store(kExactPhases, Buffer::kW, at_.features + at_.cell_rows, at_.feature_rows,
                      features_ + channel_tile(n_tile) * at_.feature_rows));
}

void LayerProgram::learn_errors(Program& out, std::int64_t n_tile, std::int64_t first,
                                std::int64_t rows) {
  const std::int64_t end = std::min(first + rows, layer_.k), y = at_.y_rows - kPredictedRows;
  for (std::int64_t j = first, count = 0; j < end; j += count) {
    count = std::min(kPredictedRows, end - j);
    dense_product(out, kExactPhases, count, j);
    Descriptor d = vec(kExactPhases, VecKind::kError, count, kAllEngines);
    d.bias = 1;
    d.wb = narrow(at_.scale_row);
    d.xb = narrow(at_.update_first + j - first);
    d.yb = d.s3 = narrow(y);
    d.addr = narrow(filters_of(n_tile));
    d.shift_a = mean_shift();
    out.push_back(d);
    out.push_back(
        store(kExactPhases, Buffer::kG, y, count, errors_ + channel_tile(n_tile) * layer_.k + j));
  }
}

void LayerProgram::learn_features(Program& out, std::int64_t n_tile) {
  // All errors of few weights are still in G.
  const bool once =
      layer_.k <= kPredictedRows && layer_.k <= at_.update_rows / machine_.cols * machine_.cols;
  std::vector<Stage> stages;
  for (std::int64_t kt = 0; kt < at_.dense.tiles; ++kt) {
    for (std::int64_t j = 0, count = 0; j < layer_.k; j += count) {
      count = std::min(kPredictedRows, layer_.k - j);
      const bool odd = stages.size() % 2 != 0;
      const std::int64_t x = odd ? at_.x_half : 0,
                         g = at_.y_rows - (odd && !once ? 2 : 1) * kPredictedRows;
      Stage stage;
      stage.loads.push_back(load(kExactPhases, Buffer::kX, x, count, at_.dense.beat(kt, j)));
      if (!once)
        stage.loads.push_back(load(kExactPhases, Buffer::kG, g, count,
                                   errors_ + channel_tile(n_tile) * layer_.k + j));
      Descriptor d = tile(kExactPhases, Mode::kDw, count);
      d.clear = j == 0;
      d.drain = j + count == layer_.k;
      d.xb = narrow(x);
      d.yb = narrow(g);
      d.wb = narrow(at_.features + at_.cell_rows + kt * machine_.cols);
      stage.tiles.push_back(d);
      stages.push_back(std::move(stage));
    }
  }
  emit(out, stages);
  slopes(out, at_.features + at_.cell_rows, at_.hidden(), at_.hidden());
}

void LayerProgram::slopes(Program& out, std::int64_t from, std::int64_t y, std::int64_t to) const {
  // Each feature is a mean of 2x2.
  for (std::int64_t row = 0; row < kSide; ++row) {
    Descriptor d = vec(kExactPhases, VecKind::kSlope, 2,
                       machine_.has_predictor_array() ? kNotMainNorDma : kAllEngines);
    d.n1 = narrow(kSide / 2);
    d.n2 = narrow(kMaps);
    d.s0 = 0;
    d.s1 = 1;
    d.s2 = narrow(kSide / 2);
    d.xb = narrow(from + row / 2 * (kConvRows / 2));
    d.yb = narrow(y + row * kConvRows);
    d.s3 = narrow(to + row * kConvRows);
    d.shift_a = 2;
    out.push_back(d);
  }
}

void LayerProgram::learn_convolution(Program& out, std::int64_t n_tile) {
  convolution_gradient(out, at_.features, at_.hidden(), begun_ == 0 && channel_tile(n_tile) == 0);
}

void LayerProgram::convolution_gradient(Program& out, std::int64_t cells, std::int64_t from,
                                        bool first) const {
  const bool beside = machine_.has_predictor_array();
  const int cols = beside ? machine_.pred_cols : machine_.cols;
  for (std::int64_t row = 0; row < kSide; ++row) {
    for (std::int64_t kt = 0; kt < at_.conv.tiles; ++kt) {
      Descriptor d = beside ? beside_tile(kExactPhases, Mode::kDx, kConvRows)
                            : waits(tile(kExactPhases, Mode::kDx, kConvRows), kAllEngines);
      d.load_w = 1;
      d.acc_in = !first || row > 0;
      d.xb = narrow(kt * kConvRows);
      d.yb = narrow(from + row * kConvRows);
      d.wb = narrow(cells + row * kMapRow + kt * cols);
      out.push_back(d);
    }
  }
}

void LayerProgram::learn_dense(Program& out) {
  out.push_back(store(kExactPhases, Buffer::kD, 0, at_.conv.tiles * kConvRows, at_.conv_gradients));
  for (std::int64_t kt = 0; kt < at_.dense.tiles; ++kt) {
    for (std::int64_t j = 0, count = 0; j < layer_.k; j += count) {
      // Rows that layers behind this one have begun, or new ones.
      const bool begun = j < begun_;
      count = std::min(kPredictedRows, (begun ? std::min(begun_, layer_.k) : layer_.k) - j);
      const std::int64_t sums = at_.dense_gradients + kt * at_.dense.outputs + j;
      if (begun) {
        out.push_back(load(kExactPhases, Buffer::kD, 0, count, sums));
        out.back().wait = kAllEngines;
      }
      std::vector<Stage> stages;
      for (std::int64_t t = 0; t < channel_tiles(); ++t) {
        const std::int64_t odd = t % 2, w = at_.update_first + odd * machine_.cols,
                           g = at_.y_rows - (odd + 1) * kPredictedRows;
        Stage stage;
        stage.loads.push_back(load(kExactPhases, Buffer::kW, w, machine_.cols,
                                   features_ + t * at_.feature_rows + kt * machine_.cols));
        stage.loads.push_back(load(kExactPhases, Buffer::kG, g, count, errors_ + t * layer_.k + j));
        Descriptor d = tile(kExactPhases, Mode::kDx, count);
        d.load_w = 1;
        d.acc_in = begun || t > 0;
        d.yb = narrow(g);
        d.wb = narrow(w);
        stage.tiles.push_back(d);
        stages.push_back(std::move(stage));
      }
      emit(out, stages);
      out.push_back(store(kExactPhases, Buffer::kD, 0, count, sums));
    }
  }
}

}  // namespace adagp::rtl

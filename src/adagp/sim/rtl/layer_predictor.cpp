// What GP batches do for one layer: pooling, the predictor and its updates.
#include <bit>

#include "adagp/sim/rtl/layer_program.h"

namespace adagp::rtl {

Program LayerProgram::beside() {
  Program out;
  const std::int64_t filters = layer_.groups * n_tiles_ * machine_.rows;
  const std::int64_t block = std::lcm(machine_.rows, machine_.pred_rows);
  for (std::int64_t first = 0; first < filters; first += block) {
    predict_block(out, first, std::min(block, filters - first));
  }
  return out;
}

void LayerProgram::pool(Program& out, std::int64_t n_tile, std::int64_t y) {
  const std::int64_t high = cells_high(), wide = cells_wide();
  Descriptor d = descriptor(Op::kReorg, kPredictedPhase, kAllEngines);
  d.kind = static_cast<std::uint32_t>(ReorgKind::kYToW);
  d.n0 = narrow(layer_.width / wide);
  d.n1 = narrow(layer_.height / high);
  d.n2 = narrow(network_.batch);
  d.s0 = 1;
  d.s1 = narrow(layer_.width);
  d.s2 = narrow(layer_.width * layer_.height);
  d.xb = narrow(layer_.width / wide);
  d.s3 = narrow(layer_.height / high * layer_.width);
  d.addr = narrow(wide) | narrow(high) << 16;
  d.shift_a = narrow(std::bit_width(d.rows()) - 1);
  d.yb = narrow(y);
  if (machine_.has_predictor_array()) {
    const std::int64_t channel = (group_ * n_tiles_ + n_tile) * machine_.rows;
    d.psrc = 1;
    d.wb = narrow(at_.pooled(layer_.name, channel / machine_.pred_rows, channel_tiles(), odd_));
    d.rot = narrow(channel % machine_.pred_rows);
    d.gs = narrow(at_.cell_rows);
  } else {
    d.wb = narrow(at_.features);
  }
  out.push_back(d);
}

std::int64_t LayerProgram::predicted_at_once(std::int64_t j, std::int64_t most) const {
  const std::int64_t rows = std::min(most, layer_.k - j), kept = at_.gradient.kept;
  return j < kept ? std::min(rows, kept - j) : rows;
}

void LayerProgram::predict_tile(Program& out, std::int64_t n_tile) {
  predictor_product(out, cells(), kFeatures, 0, at_.features, at_.hidden);
  Descriptor d = vec(kPredictedPhase, VecKind::kFeature, kFeatures, kAllEngines);
  d.relu = 1;
  d.yb = narrow(at_.y_rows - kPredictedRows);
  d.xb = narrow(at_.features + at_.cell_rows);
  out.push_back(d);
  for (std::int64_t j = 0, count = 0; j < layer_.k; j += count) {
    count = predicted_at_once(j, kPredictedRows);
    predictor_product(out, kFeatures, count, j, at_.features + at_.cell_rows, at_.gradient);
    update(out, kPredictedPhase, VecKind::kSgdPred, count, weight_row(n_tile, 0) + j);
  }
}

void LayerProgram::predictor_product(Program& out, std::int64_t inputs, std::int64_t outputs,
                                     std::int64_t first, std::int64_t features,
                                     const PredictorWeights& weights) {
  const bool kept = machine_.has_predictor_memory() && weights.holds(first, outputs);
  std::vector<Stage> stages;
  for (std::int64_t kt = 0; kt < pieces(inputs, machine_.cols); ++kt) {
    Stage stage;
    Descriptor d = tile(kPredictedPhase, Mode::kForward, outputs);
    d.load_w = 1;
    d.acc_in = kt > 0;
    d.yb = narrow(at_.y_rows - kPredictedRows);
    d.wb = narrow(features + kt * machine_.cols);
    if (kept) {
      d.psrc = 1;
      d.xb = narrow(weights.in_memory(kt, first));
    } else {
      d.xb = narrow(kt % 2 * at_.x_half);
      stage.loads.push_back(
          load(kPredictedPhase, Buffer::kX, kt % 2 * at_.x_half, outputs, weights.beat(kt, first)));
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
    const std::int64_t pooled =
        at_.pooled(layer_.name, first / machine_.pred_rows + q, channel_tiles(), odd_);
    beside_product(out, cells(), kFeatures, 0, pooled, at_.hidden);
    Descriptor d = vec(kPredictedPhase, VecKind::kFeature, kFeatures, kAllEngines);
    d.psrc = d.relu = 1;
    d.xb = narrow(at_.hidden_features + q * at_.feature_rows);
    out.push_back(d);
  }
  const std::int64_t most = std::min<std::int64_t>(kPredictedRows, at_.update_rows / (groups + 1));
  for (std::int64_t j = 0, rows = 0; j < layer_.k; j += rows) {
    rows = predicted_at_once(j, most);
    for (std::int64_t q = 0; q < tiles; ++q) {
      beside_product(out, kFeatures, rows, j, at_.hidden_features + q * at_.feature_rows,
                     at_.gradient);
      const std::int64_t channel = q * machine_.pred_rows;
      Descriptor d = vec(kPredictedPhase, VecKind::kGradient, rows, kAllEngines);
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

void LayerProgram::beside_product(Program& out, std::int64_t inputs, std::int64_t outputs,
                                  std::int64_t first, std::int64_t features,
                                  const PredictorWeights& weights) {
  const bool kept = weights.holds(first, outputs);
  for (std::int64_t kt = 0; kt < pieces(inputs, machine_.pred_cols); ++kt) {
    Descriptor d = tile(kPredictedPhase, Mode::kForward, outputs);
    d.op = static_cast<std::uint32_t>(Op::kPtile);
    // The main array and the DMA go on with the next layer.
    d.wait = kAllEngines & ~bit(Engine::kMain) & ~bit(Engine::kDma);
    d.load_w = 1;
    d.acc_in = kt > 0;
    d.wb = narrow(features + kt * machine_.pred_cols);
    if (kept) {
      d.xb = narrow(weights.in_memory(kt, first));
    } else {
      // The half's last reader is the tile before the one that runs now; in front of the first tile
      // of a product a unit has waited for all engines.
      const std::int64_t half = at_.streamed + kt % 2 * kPredictedRows;
      out.push_back(load(kPredictedPhase, Buffer::kPx, half, outputs, weights.beat(kt, first)));
      d.xb = narrow(half);
      d.wait |= bit(Engine::kDma);
    }
    out.push_back(d);
  }
}

}  // namespace adagp::rtl

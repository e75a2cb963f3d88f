// What GP batches do for one layer: pooling, the predictor and its updates.
#include <bit>

#include "adagp/rtl/layer_program.h"

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

void LayerProgram::predict_tile(Program& out, std::int64_t n_tile) {
  predictor_product(out, cells(), kFeatures, 0, at_.features, at_.hidden_in_memory);
  Descriptor d = vec(kPredictedPhase, VecKind::kFeature, kFeatures, kAllEngines);
  d.relu = 1;
  d.yb = narrow(at_.y_rows - kPredictedRows);
  d.xb = narrow(at_.features + at_.cell_rows);
  out.push_back(d);
  for (std::int64_t j = 0; j < layer_.k; j += kPredictedRows) {
    const std::int64_t count = std::min<std::int64_t>(kPredictedRows, layer_.k - j);
    predictor_product(out, kFeatures, count, j, at_.features + at_.cell_rows, at_.final_in_memory);
    update(out, kPredictedPhase, VecKind::kSgdPred, count, weight_row(n_tile, 0) + j);
  }
}

void LayerProgram::predictor_product(Program& out, std::int64_t inputs, std::int64_t outputs,
                                     std::int64_t first, std::int64_t features,
                                     PredictorPlace place) {
  std::vector<Stage> stages;
  for (std::int64_t kt = 0; kt < pieces(inputs, machine_.cols); ++kt) {
    Stage stage;
    Descriptor d = tile(kPredictedPhase, Mode::kForward, outputs);
    d.load_w = 1;
    d.acc_in = kt > 0;
    d.yb = narrow(at_.y_rows - kPredictedRows);
    d.wb = narrow(features + kt * machine_.cols);
    if (machine_.has_predictor_memory()) {
      d.psrc = 1;
      d.xb = narrow(place.first + kt * place.stride + first);
    } else {
      d.xb = narrow(kt % 2 * at_.x_half);
      stage.loads.push_back(load(kPredictedPhase, Buffer::kX, kt % 2 * at_.x_half, outputs,
                                 at_.predictor_outside + place.first + kt * place.stride + first));
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
    beside_product(out, cells(), kFeatures, 0, pooled, at_.hidden_in_memory);
    Descriptor d = vec(kPredictedPhase, VecKind::kFeature, kFeatures, kAllEngines);
    d.psrc = d.relu = 1;
    d.xb = narrow(at_.hidden_features + q * at_.feature_rows);
    out.push_back(d);
  }
  const std::int64_t most = std::min<std::int64_t>(kPredictedRows, at_.update_rows / (groups + 1));
  for (std::int64_t j = 0; j < layer_.k; j += most) {
    const std::int64_t rows = std::min(most, layer_.k - j);
    for (std::int64_t q = 0; q < tiles; ++q) {
      beside_product(out, kFeatures, rows, j, at_.hidden_features + q * at_.feature_rows,
                     at_.final_in_memory);
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
                                  std::int64_t first, std::int64_t features, PredictorPlace place) {
  for (std::int64_t kt = 0; kt < pieces(inputs, machine_.pred_cols); ++kt) {
    Descriptor d = tile(kPredictedPhase, Mode::kForward, outputs);
    d.op = static_cast<std::uint32_t>(Op::kPtile);
    // The main array and the DMA go on with the next layer.
    d.wait = kAllEngines & ~bit(Engine::kMain) & ~bit(Engine::kDma);
    d.load_w = 1;
    d.acc_in = kt > 0;
    d.xb = narrow(place.first + kt * place.stride + first);
    d.wb = narrow(features + kt * machine_.pred_cols);
    out.push_back(d);
  }
}

}  // namespace adagp::rtl

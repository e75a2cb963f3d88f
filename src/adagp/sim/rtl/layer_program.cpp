#include "adagp/sim/rtl/layer_program.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::rtl {

LayerProgram::LayerProgram(const Machine& machine, const Memories& memories, const Network& network,
                           size_t index, Outside& outside)
    : machine_(machine),
      at_(memories),
      network_(network),
      layer_(network.layers[index]),
      odd_(index % 2 != 0),
      outside_(outside) {
  const LayerProduct& layer = layer_;
  k_tiles_ = pieces(layer.k, machine.cols);
  n_tiles_ = pieces(layer.n, machine.rows);
  // Regrouped rows reach one group further than their channels fill.
  rows_ = std::min({layer.m, at_.x_half, at_.g_half,
                    at_.x_rows / (pieces(machine.rows, machine.cols) + 1),
                    at_.y_rows / (pieces(machine.cols, machine.rows) + 1)});
  chunks_ = pieces(layer.m, rows_);
  if (machine.has_predictor() && chunks_ > 1) {
    throw UsageError(core::cat("layer '", layer.name, "': ", layer.m,
                               " output pixels of a batch do not fit the memories at once (", rows_,
                               " do), and the predictor pools over all of them; use a smaller "
                               "batch or larger memories (rtl.x_bits, rtl.y_bits)"));
  }
  inputs_ = outside.take(layer.groups * k_tiles_ * layer.m);
  gradients_ = outside.take(layer.groups * n_tiles_ * layer.m);
  const std::int64_t weights = layer.groups * n_tiles_ * k_tiles_ * machine.cols;
  for (std::int64_t* place : {&weights_, &precise_, &velocities_}) *place = outside.take(weights);
  if (machine.has_predictor()) scale_ = outside.take(1);
  if (machine.learns_beside()) {
    cells_ = outside.take(Memories::channel_tiles(machine, layer) * at_.cell_rows);
    if (!errors_stay()) errors_ = outside.take(Memories::channel_tiles(machine, layer) * layer.k);
    true_gradients_ = outside.take(weights);
  } else if (machine.learns()) {
    cells_ = outside.take(channel_tiles() * at_.cell_rows);
    features_ = outside.take(channel_tiles() * at_.feature_rows);
    errors_ = outside.take(channel_tiles() * layer.k);
  }
}

Program LayerProgram::forward() {
  Program out;
  for (group_ = 0; group_ < layer_.groups; ++group_) {
    for (chunk_ = 0; chunk_ < chunks_; ++chunk_) {
      for (std::int64_t first = 0, count = 0; first < n_tiles_; first += count) {
        count = tiles_at_once(first);
        forward_group(out, first, count);
      }
    }
  }
  if (machine_.learns_beside())
    store_all(out, kExactPhases, Buffer::kPw, at_.pooled(0, odd_),
              pred_channel_tiles() * at_.cell_rows, cells_);
  return out;
}

Program LayerProgram::backward() {
  Program out;
  for (group_ = 0; group_ < layer_.groups; ++group_) {
    for (chunk_ = 0; layer_.input_gradient && chunk_ < chunks_; ++chunk_) input_gradient(out);
  }
  chunk_ = 0;
  if (machine_.has_predictor())
    out.push_back(load(kExactPhases, Buffer::kP, at_.scale_row, 1, scale_));
  const bool learns = machine_.learns() && !machine_.learns_beside();
  if (learns) learn_begin(out);
  for (group_ = 0; group_ < layer_.groups; ++group_)
    for (std::int64_t t = 0; t < n_tiles_; ++t) weight_gradient(out, t);
  if (learns) learn_dense(out);
  return out;
}

std::int64_t LayerProgram::tiles_at_once(std::int64_t first) const {
  const std::int64_t room = machine_.has_predictor() ? at_.y_rows - kPredictedRows : at_.y_rows;
  std::int64_t count = std::max<std::int64_t>(
      1, std::min({n_tiles_ - first, room / rows_, at_.w_half / machine_.cols}));
  while (count > 1 && x_groups(first, count) * rows_ > at_.x_rows) --count;
  if (x_groups(first, count) * rows_ > at_.x_rows || count * rows_ > room) {
    throw UsageError(core::cat(
        "layer '", layer_.name, "': ", rows_,
        " rows of one tile do not fit "
        "the memories X and Y; use a smaller batch or larger memories (rtl.x_bits, rtl.y_bits)"));
  }
  return count;
}

Descriptor& LayerProgram::add_product(Stage& stage, Descriptor product, std::int64_t turn,
                                      std::int64_t t, std::int64_t n_tile, std::int64_t k_tile) {
  const std::int64_t w = turn % 2 * at_.w_half + t * machine_.cols;
  stage.loads.push_back(load_weights(product.mask, w, n_tile, k_tile));
  product.load_w = 1;
  product.acc_in = turn > 0;
  product.wb = narrow(w);
  return stage.tiles.emplace_back(product);
}

LayerProgram::Regrouped LayerProgram::regrouped(std::int64_t first, std::int64_t t,
                                                std::int64_t from, std::int64_t to) const {
  const std::int64_t channel = (first + t) * from;
  return {(channel / to - first * from / to) * rows_, channel % to};
}

void LayerProgram::forward_group(Program& out, std::int64_t first, std::int64_t count) {
  std::vector<Stage> stages;
  for (std::int64_t kt = 0; kt < k_tiles_; ++kt) {
    const std::int64_t x = kt % 2 * at_.x_half;
    Stage stage;
    stage.loads.push_back(load_inputs(kEveryPhase, x, kt, rows_now()));
    for (std::int64_t t = 0; t < count; ++t) {
      Descriptor& d =
          add_product(stage, tile(kEveryPhase, Mode::kForward, rows_now()), kt, t, first + t, kt);
      d.xb = narrow(x);
      d.yb = narrow(t * rows_);
    }
    stages.push_back(std::move(stage));
  }
  emit(out, stages);
  for (std::int64_t t = 0; t < count; ++t) {
    const Regrouped at = regrouped(first, t, machine_.rows, machine_.cols);
    Descriptor d = vec(kEveryPhase, VecKind::kAct, rows_now(), kNotPredictor);
    d.relu = 1;
    d.yb = narrow(t * rows_);
    d.xb = narrow(at.row);
    d.rot = narrow(at.rotation);
    d.gs = narrow(rows_);
    out.push_back(d);
  }
  const std::int64_t stored = x_groups(first, count) * rows_;
  store_all(out, kEveryPhase, Buffer::kX, 0, stored, outside_.take(stored));
  if (!machine_.has_predictor()) return;
  for (std::int64_t t = 0; t < count; ++t) {
    summary(out, first + t, t * rows_);
    if (machine_.learns() && !machine_.learns_beside()) keep_cells(out, first + t);
    if (!machine_.has_predictor_array()) predict_tile(out, first + t);
  }
}

void LayerProgram::input_gradient(Program& out) {
  for (std::int64_t first = 0, count = 0; first < k_tiles_; first += count) {
    count = std::max<std::int64_t>(
        1, std::min({k_tiles_ - first, at_.x_rows / rows_, at_.w_half / machine_.cols}));
    while (count > 1 && g_groups(first, count) * rows_ > at_.y_rows) --count;
    if (g_groups(first, count) * rows_ > at_.y_rows) {
      throw UsageError(core::cat("layer '", layer_.name, "': ", rows_,
                                 " rows of a gradient do not fit the memory G; use a smaller "
                                 "batch or larger memories (rtl.x_bits, rtl.y_bits)"));
    }
    input_gradient_group(out, first, count);
  }
}

void LayerProgram::input_gradient_group(Program& out, std::int64_t first, std::int64_t count) {
  std::vector<Stage> stages;
  for (std::int64_t nt = 0; nt < n_tiles_; ++nt) {
    const std::int64_t g = nt % 2 * at_.g_half;
    Stage stage;
    stage.loads.push_back(load_gradients(g, nt));
    for (std::int64_t t = 0; t < count; ++t) {
      Descriptor& d =
          add_product(stage, tile(kExactPhases, Mode::kDx, rows_now()), nt, t, nt, first + t);
      d.xb = narrow(t * rows_);
      d.yb = narrow(g);
    }
    stages.push_back(std::move(stage));
  }
  emit(out, stages);
  // The ReLU's mask: the activations at the addresses of their gradients.
  for (std::int64_t t = 0; t < count; ++t) {
    Descriptor mask = load_inputs(kExactPhases, t * rows_, first + t, rows_now());
    mask.wait = kNotPredictor;
    out.push_back(mask);
  }
  for (std::int64_t t = 0; t < count; ++t) {
    const Regrouped at = regrouped(first, t, machine_.cols, machine_.rows);
    Descriptor d = vec(kExactPhases, VecKind::kBack, rows_now(), kNotPredictor);
    d.relu = 1;
    d.xb = narrow(t * rows_);
    d.yb = narrow(at.row);
    d.rot = narrow(at.rotation);
    d.gs = narrow(rows_);
    out.push_back(d);
  }
  const std::int64_t stored = g_groups(first, count) * rows_;
  store_all(out, kExactPhases, Buffer::kG, 0, stored, outside_.take(stored));
}

void LayerProgram::weight_gradient(Program& out, std::int64_t n_tile) {
  const std::int64_t at_once = at_.update_rows / machine_.cols;
  const bool learns = machine_.learns() && !machine_.learns_beside();
  if (learns) learn_forward(out, n_tile);
  for (std::int64_t first = 0; first < k_tiles_; first += at_once) {
    const std::int64_t count = std::min(at_once, k_tiles_ - first);
    std::vector<Stage> stages;
    const std::int64_t together = chunks_ > 1 ? 1 : std::max<std::int64_t>(1, at_.x_half / rows_);
    for (std::int64_t kt = 0; kt < count; kt += together) {
      for (chunk_ = 0; chunk_ < chunks_; ++chunk_) {
        Stage stage;
        const bool odd = stages.size() % 2 != 0;
        const std::int64_t x = odd ? at_.x_half : 0, number = std::min(together, count - kt);
        // One chunk: the outputs' gradients stay in G for all tiles.
        const std::int64_t g = chunks_ > 1 && odd ? at_.g_half : 0;
        if (chunks_ > 1 || kt == 0) {
          stage.loads.push_back(load_gradients(g, n_tile));
        }
        // Tiles of inputs lie one after the other, so that several are one transfer.
        stage.loads.push_back(load_inputs(kExactPhases, x, first + kt, number * rows_now()));
        for (std::int64_t t = 0; t < number; ++t) {
          Descriptor d = tile(kExactPhases, Mode::kDw, rows_now());
          d.clear = chunk_ == 0;
          d.drain = chunk_ + 1 == chunks_;
          d.xb = narrow(x + t * rows_);
          d.yb = narrow(g);
          d.wb = narrow(at_.update_first + (kt + t) * machine_.cols);
          stage.tiles.push_back(d);
        }
        stages.push_back(std::move(stage));
      }
    }
    emit(out, stages);
    chunk_ = 0;
    const std::int64_t rows = count * machine_.cols;
    if (learns) learn_errors(out, n_tile, first * machine_.cols, rows);
    if (machine_.learns_beside())
      out.push_back(store(kExactPhases, Buffer::kO, at_.update_first, rows,
                          true_gradients_ + weight_row(n_tile, first)));
    update(out, kExactPhases, VecKind::kSgd, rows, weight_row(n_tile, first));
  }
  if (learns) {
    learn_features(out, n_tile);
    learn_convolution(out, n_tile);
  }
}

void LayerProgram::update(Program& out, std::uint32_t mask, VecKind kind, std::int64_t rows,
                          std::int64_t from, std::int64_t offset) {
  const std::int64_t at = at_.update_first + offset;
  const bool scaled = machine_.has_predictor(), exact = mask == kExactPhases;
  const std::int64_t all = layer_.groups * n_tiles_ * k_tiles_ * machine_.cols;
  const bool last = from + rows == all;
  if (scaled && !exact && from == 0)
    out.push_back(load(mask, Buffer::kP, at_.scale_row, 1, scale_));
  out.push_back(load(mask, Buffer::kP, at, rows, precise_ + from));
  out.push_back(load(mask, Buffer::kV, at, rows, velocities_ + from));
  Descriptor d = vec(mask, kind, rows, exact ? kNotPredictor : kAllEngines);
  d.xb = narrow(at);
  d.yb = narrow(kind == VecKind::kSgdPred ? at_.y_rows - kPredictedRows : 0);
  d.shift_a = 3;
  d.shift_b = 6;
  if (scaled) {
    d.bias = 1;
    d.wb = narrow(at_.scale_row);
    d.psrc = !exact && kind == VecKind::kSgd;
    d.clear = exact && from == 0;
    d.drain = exact && last;
    if (d.drain) d.addr = narrow(layer_.groups * layer_.n * layer_.k);
  }
  out.push_back(d);
  if (d.drain) out.push_back(store(mask, Buffer::kP, at_.scale_row, 1, scale_));
  out.push_back(store(mask, Buffer::kP, at, rows, precise_ + from));
  out.push_back(store(mask, Buffer::kV, at, rows, velocities_ + from));
  out.push_back(store(mask, Buffer::kW, at, rows, weights_ + from));
}

}  // namespace adagp::rtl

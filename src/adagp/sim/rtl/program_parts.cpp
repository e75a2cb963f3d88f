#include "adagp/sim/rtl/program_parts.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::rtl {

Memories::Memories(const Machine& machine, const Network& network, Outside& outside) {
  const auto size = [](int bits) { return std::int64_t{1} << bits; };
  x_rows = size(machine.x_bits), x_half = x_rows / 2;
  y_rows = size(machine.y_bits), g_half = y_rows / 2;
  const bool own = machine.has_predictor_array();
  const std::int64_t main_cols = machine.cols, cols = own ? machine.pred_cols : machine.cols;
  cell_rows = (kSide - 1) * kMapRow + pieces(kConvInputs, cols) * cols;
  feature_rows = pieces(kDenseInputs, cols) * cols;
  const std::int64_t w_rows = size(machine.w_bits);
  std::int64_t usable = w_rows;
  if (machine.has_predictor()) scale_row = --usable;
  if (machine.has_predictor() && !own) {
    usable -= cell_rows + feature_rows;
    features = usable;
  }
  // Beside the next layer's tiles the second array's updates need rows of their own.
  const std::int64_t feeding = own ? usable / 2 : usable;
  w_half = feeding / 2;
  update_first = own ? feeding : 0;
  update_rows = usable - update_first;
  const bool learns = machine.learns(), on_main = learns && !own;
  require_rows(
      "W", "a network's program",
      machine.has_predictor() ? (own ? 4 : 2) * main_cols + w_rows - usable : 2 * main_cols, w_rows,
      "w_bits");
  if (!machine.has_predictor()) return;
  require_rows("X", "the predictor",
               std::max(pieces(kConvInputs, cols) * kConvRows, on_main ? 2 * kPredictedRows : 0),
               x_rows, "x_bits");
  require_rows("Y", "the predictor", on_main ? 4 * kPredictedRows : kPredictedRows + 1, y_rows,
               "y_bits");
  std::int64_t widest = 0;
  for (const LayerProduct& layer : network.layers) widest = std::max(widest, layer.k);
  conv = {pieces(kConvInputs, cols), kConvRows, 0, 0, 0};
  dense = {pieces(kDenseInputs, cols), widest, 0, 0, 0};
  conv.outside = outside.take(conv.tiles * conv.outputs);
  dense.outside = outside.take(dense.tiles * dense.outputs);
  constants = outside.take(cell_rows + feature_rows - kFeatures);
  if (learns) {
    conv_gradients = outside.take(conv.tiles * conv.outputs);
    dense_gradients = outside.take(dense.tiles * dense.outputs);
  }
  if (machine.has_predictor_memory()) keep(machine);
  if (!own) return;
  block_tiles = std::lcm(machine.rows, machine.pred_rows) / machine.pred_rows;
  block_groups = block_tiles * machine.pred_rows / machine.rows;
  if (learns) require_room_beside(machine);
  hidden_features = w_rows - block_tiles * feature_rows;
  pooled_half = hidden_features / 2;
  for (const LayerProduct& layer : network.layers) {
    const std::int64_t tiles = channel_tiles(machine, layer), most = pooled_half / cell_rows;
    pooled_tiles = std::max(pooled_tiles, tiles);
    if (tiles <= most) continue;
    // Each group begins a tile of the main array.
    const std::int64_t lanes = std::max<std::int64_t>(0, most - 1) * machine.pred_rows,
                       of_group = pieces(layer.n, machine.rows) * machine.rows;
    const std::string fitting =
        layer.groups == 1 ? core::cat(lanes / machine.rows * machine.rows, " filters")
                          : core::cat(lanes / of_group, " groups of ", layer.n, " filters");
    throw UsageError(core::cat("layer '", layer.name, "': the maps of its ", layer.groups * layer.n,
                               " filters need ", tiles * cell_rows,
                               " rows of the predictor array's memory, which has ", pooled_half,
                               " for them: ", fitting, " fit (rtl.w_bits, up to 16)"));
  }
}

void require_rows(const char* memory, const char* user, std::int64_t needed, std::int64_t rows,
                  const char* key) {
  if (needed <= rows) return;
  throw UsageError(core::cat("rtl: memory ", memory, " of ", rows, " rows is too small: ", user,
                             " needs ", needed, " (rtl.", key, ", up to 16)"));
}

void Memories::require_room_beside(const Machine& machine) const {
  if (machine.pred_cols > machine.cols)
    throw UsageError(core::cat("rtl: a predictor array of ", machine.pred_cols,
                               " columns cannot learn beside a main array of ", machine.cols,
                               " columns, whose units move its weights: ", machine.cols,
                               " columns fit"));
  require_rows("Y", "the predictor array, which learns,",
               std::max(2 * kPredictedRows, kPredictedRows + block_tiles + 1), y_rows, "y_bits");
  if (learned_rows() < 1)
    require_rows("W", "the predictor array, which learns,", 4 * (block_groups + 2),
                 2 * update_first, "w_bits");
}

std::int64_t Memories::learned_rows() const {
  return std::min({kPredictedRows, update_first / (block_groups + 1),
                   (y_rows - kPredictedRows) / (block_tiles + 1), y_rows / (block_groups + 1)});
}

std::int64_t Memories::channel_tiles(const Machine& machine, const LayerProduct& layer) {
  const std::int64_t channels = layer.groups * pieces(layer.n, machine.rows) * machine.rows;
  return pieces(channels, machine.pred_rows) + 1;
}

// Rows that PX does not hold are loaded each time: into X (efficient), or into two halves of PX
// (max), whose array reads from nowhere else.
void Memories::keep(const Machine& machine) {
  const std::int64_t room = std::int64_t{1} << machine.predictor_bits;
  conv.kept = conv.outputs;
  dense.first = conv.tiles * conv.outputs;
  std::int64_t left = room - dense.first;
  const bool all = dense.tiles * dense.outputs <= left;
  if (machine.has_predictor_array() && !all) {
    streamed = room - 2 * kPredictedRows;
    left -= 2 * kPredictedRows;
  }
  if (left < 0) {
    throw UsageError(core::cat("rtl: the predictor's memory of ", room,
                               " rows is too small: ", room - left,
                               " are needed (rtl.predictor_bits, up to 16); design 'low' needs no "
                               "such memory"));
  }
  dense.kept = all ? dense.outputs : left / dense.tiles;
}

template <typename Move>
void Memories::each_kept(const Move& move) const {
  // The two products lie one behind the other on both sides.
  const bool all = dense.kept == dense.outputs;
  move(0, dense.first + (all ? dense.tiles * dense.kept : 0), 0);
  for (std::int64_t tile = 0; !all && tile < dense.tiles; ++tile)
    move(dense.in_memory(tile, 0), dense.kept, dense.beat(tile, 0) - conv.outside);
}

void Memories::load_predictor(Program& out) const {
  each_kept([&](std::int64_t row, std::int64_t rows, std::int64_t at) {
    load_all(out, kExactPhases, Buffer::kPx, row, rows, conv.outside + at);
  });
}

void Memories::store_gradients(Program& out) const {
  out.push_back(descriptor(Op::kBarrier, kExactPhases, kAllEngines));
  each_kept([&](std::int64_t row, std::int64_t rows, std::int64_t at) {
    store_all(out, kExactPhases, Buffer::kPd, row, rows, conv_gradients + at);
  });
}

void Memories::load_constants(Program& out) const {
  if (pooled_tiles == 0) {
    load_all(out, kExactPhases, Buffer::kW, features, cell_rows, constants);
    out.push_back(load(kExactPhases, Buffer::kW, features + cell_rows + kFeatures,
                       feature_rows - kFeatures, constants + cell_rows));
    return;
  }
  for (const std::int64_t half : {std::int64_t{0}, pooled_half})
    for (std::int64_t t = 0; t < pooled_tiles; ++t)
      load_all(out, kExactPhases, Buffer::kPw, half + t * cell_rows, cell_rows, constants);
  for (std::int64_t q = 0; q < block_tiles; ++q)
    out.push_back(load(kExactPhases, Buffer::kPw, hidden_features + q * feature_rows + kFeatures,
                       feature_rows - kFeatures, constants + cell_rows));
}

}  // namespace adagp::rtl

#include "adagp/sim/rtl/program_parts.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::rtl {

Memories::Memories(const Machine& machine, const Network& network, Outside& outside) {
  const auto size = [](int bits) { return std::int64_t{1} << bits; };
  x_rows = size(machine.x_bits), x_half = x_rows / 2;
  y_rows = size(machine.y_bits), g_half = y_rows / 2;
  const bool own = machine.has_predictor_array();
  const std::int64_t cols = own ? machine.pred_cols : machine.cols;
  cell_rows = pieces(kCells, cols) * cols;
  feature_rows = pieces(kFeatures, cols) * cols;
  const std::int64_t w_rows = size(machine.w_bits);
  std::int64_t usable = w_rows;
  if (machine.has_predictor() && !own) {
    usable -= cell_rows + feature_rows;
    features = usable;
  }
  // Beside the next layer's tiles the second array's updates need rows of their own.
  const std::int64_t feeding = own ? usable / 2 : usable;
  w_half = feeding / 2;
  update_first = own ? feeding : 0;
  update_rows = usable - update_first;
  if (w_half < machine.cols || update_rows < std::int64_t{2} * machine.cols ||
      (machine.has_predictor() && y_rows <= kPredictedRows)) {
    throw UsageError(core::cat("rtl: memories of ", w_rows, " rows W and ", y_rows,
                               " rows Y are too small for the programs of networks"));
  }
  if (!machine.has_predictor()) return;
  std::int64_t widest = 0;
  for (const LayerProduct& layer : network.layers) widest = std::max(widest, layer.k);
  hidden = {pieces(kCells, cols), kFeatures, 0, 0, 0};
  gradient = {pieces(kFeatures, cols), widest, 0, 0, 0};
  hidden.outside = outside.take(hidden.tiles * hidden.outputs);
  gradient.outside = outside.take(gradient.tiles * gradient.outputs);
  if (machine.has_predictor_memory()) keep(machine);
  if (own)
    hidden_features =
        w_rows -
        pieces(std::lcm(machine.rows, machine.pred_rows), machine.pred_rows) * feature_rows;
}

// Rows that PX does not hold are loaded each time: into X (efficient), or into two halves of PX
// (max), whose array reads from nowhere else.
void Memories::keep(const Machine& machine) {
  const std::int64_t room = std::int64_t{1} << machine.predictor_bits;
  hidden.kept = hidden.outputs;
  gradient.first = hidden.tiles * hidden.outputs;
  std::int64_t left = room - gradient.first;
  const bool all = gradient.tiles * gradient.outputs <= left;
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
  gradient.kept = all ? gradient.outputs : left / gradient.tiles;
}

void Memories::load_predictor(Program& out) const {
  // The two products lie one behind the other on both sides.
  const bool all = gradient.kept == gradient.outputs;
  load_all(out, kExactPhases, Buffer::kPx, 0,
           gradient.first + (all ? gradient.tiles * gradient.kept : 0), hidden.outside);
  for (std::int64_t tile = 0; !all && tile < gradient.tiles; ++tile) {
    load_all(out, kExactPhases, Buffer::kPx, gradient.in_memory(tile, 0), gradient.kept,
             gradient.beat(tile, 0));
  }
}

std::int64_t Memories::pooled(const std::string& layer, std::int64_t channel_tile,
                              std::int64_t tiles, bool odd) const {
  const std::int64_t half = hidden_features / 2;
  if (tiles * cell_rows > half) {
    throw UsageError(core::cat(
        "layer '", layer, "': the pooled outputs of its channels need ", tiles * cell_rows,
        " rows of the predictor array's memory, which has ", half, " for them"));
  }
  return (odd ? half : 0) + channel_tile * cell_rows;
}

}  // namespace adagp::rtl

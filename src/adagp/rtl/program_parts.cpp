#include "adagp/rtl/program_parts.h"

#include "adagp/core/error.h"
#include "adagp/core/text.h"

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
  hidden_in_memory = {0, kFeatures};
  final_in_memory = {kFeatures * pieces(kCells, cols), widest};
  predictor_rows = final_in_memory.first + widest * pieces(kFeatures, cols);
  predictor_outside = outside.take(predictor_rows);
  const std::int64_t room = size(machine.predictor_bits);
  if (machine.has_predictor_memory() && predictor_rows > room) {
    throw UsageError(
        core::cat("rtl: the predictor's weights need ", predictor_rows, " rows (", widest,
                  " weights in the widest filter), its memory has ", room,
                  " (rtl.predictor_bits, up to 16); design 'low' needs no such memory"));
  }
  if (own)
    hidden_features =
        w_rows -
        pieces(std::lcm(machine.rows, machine.pred_rows), machine.pred_rows) * feature_rows;
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

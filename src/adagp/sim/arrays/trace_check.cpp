#include "adagp/sim/arrays/trace_check.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::arrays {
namespace {

std::string shape_text(const accel::ZeroBits& bits) {
  return core::cat(bits.outer[1], "x", bits.outer[2], "x", bits.channels);
}

// "" where the sizes are those of the row.
std::string size_error(const LayerTrace& layer, const layers::Row& row) {
  const bool flat = row.op == "linear";
  // Sentences are as long as their batch needs: a linear layer that sees several words in the
  // table may see another number of them in the trace.
  const bool words = flat && row.input[1] * row.input[2] > 1;
  const auto fits = [&](const accel::ZeroBits& bits, const std::array<int64_t, 3>& size) {
    if (bits.empty()) return true;
    const bool same_pixels = words || (flat ? bits.outer[1] * bits.outer[2] == size[1] * size[2]
                                            : bits.outer[1] == size[1] && bits.outer[2] == size[2]);
    return same_pixels && bits.channels == size[0];
  };
  if (words && !layer.x.empty() && !layer.dy.empty() &&
      layer.x.outer[1] * layer.x.outer[2] != layer.dy.outer[1] * layer.dy.outer[2]) {
    return core::cat("X is ", shape_text(layer.x), " and dY is ", shape_text(layer.dy),
                     ", expected equal numbers of words");
  }
  if (!fits(layer.x, row.input)) {
    return core::cat("X is ", shape_text(layer.x), ", the network has ", row.input[1], "x",
                     row.input[2], "x", row.input[0]);
  }
  if (!fits(layer.dy, row.output)) {
    return core::cat("dY is ", shape_text(layer.dy), ", the network has ", row.output[1], "x",
                     row.output[2], "x", row.output[0]);
  }
  const accel::ZeroBits& w = layer.w;
  if (!w.empty() && (w.outer[0] != row.output[0] || w.outer[1] != row.kernel[0] ||
                     w.outer[2] != row.kernel[1] || w.channels != row.input[0] / row.groups)) {
    return core::cat("W is ", w.outer[0], "x", shape_text(w), ", the network has ", row.output[0],
                     "x", row.kernel[0], "x", row.kernel[1], "x", row.input[0] / row.groups);
  }
  return "";
}

}  // namespace

bool is_traced(const layers::Row& row) {
  return row.op == "conv2d" || row.op == "linear";
}

void check_trace(const Trace& trace, const layers::Table& table) {
  std::vector<std::string> missing;
  for (const layers::Row& row : table.rows) {
    if (!is_traced(row)) continue;
    const LayerTrace* layer = trace.find(row);
    if (layer == nullptr) {
      missing.push_back(row.name);
      continue;
    }
    if (const std::string error = size_error(*layer, row); !error.empty()) {
      throw DataError(core::cat(trace.file, ": is a trace of '", trace.network, "' (", trace.input,
                                ") and does not fit '", table.model, "' (", table.input,
                                "): layer '", row.name, "': ", error));
    }
  }
  if (missing.empty()) return;
  const size_t count = missing.size();
  if (count > 4) missing.resize(4);
  throw DataError(core::cat(trace.file, ": is a trace of '", trace.network, "' (", trace.input,
                            ") and lacks ", count, " layers of '", table.model,
                            "': ", core::join(missing, ", "), count > 4 ? ", ..." : ""));
}

}  // namespace adagp::arrays

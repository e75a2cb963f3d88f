#include "adagp/sim/arrays/given.h"

#include <array>
#include <functional>

#include "adagp/base/core/error.h"
#include "adagp/base/core/lookup.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/arrays/fast.h"

namespace adagp::arrays {
namespace {

using core::cat;

// "key=value,key=value"
void parse_pairs(const std::string& text, const char* flag, const std::array<const char*, 3>& keys,
                 const std::function<void(size_t key, const std::string& value)>& take) {
  std::array<bool, 3> seen{};
  for (const std::string& part : core::split(text, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos) {
      throw UsageError(cat(flag, " ", text, ": '", part, "' is not KEY=VALUE; expected such as ",
                           keys[0], "=...,", keys[1], "=...,", keys[2], "=..."));
    }
    const std::string key = core::trim(part.substr(0, equals));
    core::find_named(keys, key, cat(flag, ": key"), " is unknown");
    for (size_t i = 0; i < keys.size(); ++i) {
      if (key != keys[i]) continue;
      if (seen[i]) throw UsageError(cat(flag, " ", text, ": '", key, "' is given twice"));
      seen[i] = true;
      take(i, core::trim(part.substr(equals + 1)));
    }
  }
}

bool has_weights(const layers::Row& row) {
  return layers::is_product(row) && row.op != "matmul";
}

const accel::ZeroBits* bits_or_none(const accel::ZeroBits& bits) {
  return bits.empty() ? nullptr : &bits;
}

LayerOperands traced(const layers::Row& row, const Trace& trace, Reads reads) {
  const LayerTrace& layer = *trace.find(row);
  LayerOperands out;
  if (reads == Reads::kWidths) {
    if (!layer.mantissa) {
      throw DataError(cat(trace.file, ": layer '", layer.name,
                          "' has no mantissa widths: they are recorded where precision = \"fast\"; "
                          "or give --bits w=2,a=2,g=4"));
    }
    for (const int width : *layer.mantissa) {
      if (width < kLeastMantissa || width > kMostMantissaBits) {
        throw DataError(cat(trace.file, ": layer '", layer.name, "' ",
                            width == 0 ? std::string("was in fp32, which")
                                       : cat("has a mantissa of ", width, " bits, which"),
                            " machine fast does not model, expected ", kLeastMantissa, " to ",
                            kMostMantissaBits, " bits; or give --bits w=2,a=2,g=4"));
      }
    }
    out.w.mantissa = (*layer.mantissa)[0];
    out.x.mantissa = (*layer.mantissa)[1];
    out.dy.mantissa = (*layer.mantissa)[2];
    return out;
  }
  const std::pair<const char*, const accel::ZeroBits*> all[] = {
      {"x.bits", &layer.x}, {"dy.bits", &layer.dy}, {"w.bits", &layer.w}};
  for (const auto& [kind, bits] : all) {
    if (bits->empty()) {
      throw DataError(cat(trace.file, ": layer '", layer.name, "' has no tensor '", kind, "'"));
    }
  }
  out.x = {layer.density[0], 0, bits_or_none(layer.x)};
  out.dy = {layer.density[1], 0, bits_or_none(layer.dy)};
  out.w = {layer.density[2], 0, bits_or_none(layer.w)};
  return out;
}

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

Sparsity parse_sparsity(const std::string& text) {
  Sparsity out;
  parse_pairs(text, "--sparsity", {"x", "dy", "w"}, [&](size_t key, const std::string& value) {
    double share = 0;
    if (!core::parse_number(value, share) || !(share >= 0 && share <= 1)) {
      throw UsageError(
          cat("--sparsity ", text, ": '", value, "' is not a share of zeros, expected 0 to 1"));
    }
    (key == 0 ? out.x : key == 1 ? out.dy : out.w) = share;
  });
  return out;
}

Widths parse_widths(const std::string& text) {
  Widths out;
  parse_pairs(text, "--bits", {"w", "a", "g"}, [&](size_t key, const std::string& value) {
    long long width = 0;
    if (!core::parse_integer(value, width) || width < kLeastMantissa || width > kMostMantissaBits) {
      throw UsageError(cat("--bits ", text, ": a mantissa of '", value,
                           "' bits is not modelled, expected ", kLeastMantissa, " to ",
                           kMostMantissaBits));
    }
    (key == 0 ? out.w : key == 1 ? out.a : out.g) = static_cast<int>(width);
  });
  return out;
}

accel::Operands LayerOperands::of(accel::Pass pass) const {
  switch (pass) {
    case accel::Pass::kForward:
      return {x, w, {}};
    case accel::Pass::kInputGradient:
      return {dy, w, {}};
    case accel::Pass::kWeightGradient:
      break;
  }
  return {x, dy, {}};
}

std::vector<LayerOperands> operands_of(const layers::Table& table, const Sparsity& sparsity) {
  std::vector<LayerOperands> out(table.rows.size());
  for (size_t i = 0; i < out.size(); ++i) {
    if (!has_weights(table.rows[i])) continue;
    out[i].x.density = 1 - sparsity.x;
    out[i].dy.density = 1 - sparsity.dy;
    out[i].w.density = 1 - sparsity.w;
  }
  return out;
}

std::vector<LayerOperands> operands_of(const layers::Table& table, const Widths& widths) {
  std::vector<LayerOperands> out(table.rows.size());
  for (size_t i = 0; i < out.size(); ++i) {
    if (!has_weights(table.rows[i])) continue;
    out[i].w.mantissa = widths.w;
    out[i].x.mantissa = widths.a;
    out[i].dy.mantissa = widths.g;
  }
  return out;
}

std::vector<LayerOperands> operands_of(const layers::Table& table, const Trace& trace,
                                       Reads reads) {
  check_trace(trace, table);
  std::vector<LayerOperands> out(table.rows.size());
  for (size_t i = 0; i < out.size(); ++i) {
    if (is_traced(table.rows[i])) out[i] = traced(table.rows[i], trace, reads);
  }
  return out;
}

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

#include <set>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/scalesim/topology.h"

namespace adagp::scalesim {
namespace {

constexpr int64_t kMostGroups = 65536;  // a line each

constexpr const char* kTitles =
    "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
    "Strides,\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string line_of(const Layer& layer) {
  return core::cat(layer.name, ", ", layer.ifmap_h, ", ", layer.ifmap_w, ", ", layer.filter_h, ", ",
                   layer.filter_w, ", ", layer.channels, ", ", layer.filters, ", ", layer.stride,
                   ",\n");
}

bool is_plain(const layers::Row& row) {
  return row.op == "conv2d" && row.stride[0] == row.stride[1] && row.dilation[0] == 1 &&
         row.dilation[1] == 1;
}

// One group of the row as a convolution. The IFMAP is what its windows see, so that SCALE-Sim's
// rounding up gives the same outputs.
Layer convolution(const layers::Row& row) {
  Layer out;
  out.stride = row.stride[0];
  out.filter_h = row.kernel[0];
  out.filter_w = row.kernel[1];
  out.ifmap_h = (row.output[1] - 1) * out.stride + out.filter_h;
  out.ifmap_w = (row.output[2] - 1) * out.stride + out.filter_w;
  out.channels = row.input[0] / row.groups;
  out.filters = row.output[0] / row.groups;
  return out;
}

// One group of the row as a product of [M, K] and [K, N].
Layer product(const layers::Row& row) {
  const int64_t window = row.kernel[0] * row.kernel[1] * row.depth.kernel;
  const bool transposed = row.op == "conv_transpose";
  const int64_t m = transposed ? layers::pixels_in(row) : layers::pixels_out(row);
  const int64_t k = row.input[0] / row.groups * (transposed ? 1 : window);
  const int64_t n = row.output[0] / row.groups * (transposed ? window : 1);
  return {"", m, k, 1, k, 1, n, 1};
}

class Names {
 public:
  std::string fresh(const std::string& name) {
    std::string out = name;
    for (int use = 2; !taken_.insert(out).second; ++use) out = core::cat(name, "_", use);
    return out;
  }

 private:
  std::set<std::string> taken_;
};

}  // namespace

std::string topology_csv(const layers::Table& table) {
  std::string out = kTitles;
  Names names;
  for (const layers::Row& row : table.rows) {
    if (!layers::is_product(row)) continue;
    const std::string name = replaced(replaced(row.name, ",", "_"), "DP", "Dp");
    const bool depthwise = is_plain(row) && row.groups > 1 && row.groups == row.input[0];
    Layer layer = is_plain(row) ? convolution(row) : product(row);
    if (depthwise) layer.channels = row.groups;  // SCALE-Sim runs one after another
    const int64_t lines = depthwise ? 1 : row.groups;
    if (lines > kMostGroups) {
      throw DataError(core::cat("scalesim: layer '", row.name, "' has ", lines,
                                " groups, expected at most ", kMostGroups));
    }
    for (int64_t group = 0; group < lines; ++group) {
      layer.name = names.fresh(depthwise   ? "DP_" + name
                               : lines > 1 ? core::cat(name, "_group", group)
                                           : name);
      out += line_of(layer);
    }
  }
  if (out == kTitles) throw DataError("scalesim: '" + table.model + "' has no product to write");
  return out;
}

}  // namespace adagp::scalesim

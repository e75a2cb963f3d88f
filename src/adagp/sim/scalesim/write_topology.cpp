#include <set>
#include <utility>

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

// Commas, line breaks and "DP" mean something to SCALE-Sim.
std::string plain_name(std::string name) {
  for (char& letter : name) {
    if (static_cast<unsigned char>(letter) < 0x20 || letter == ',') letter = '_';
  }
  return replaced(std::move(name), "DP", "Dp");
}

// The lines of a topology; no two names are equal.
class Lines {
 public:
  // `groups` lines of one layer.
  void add(const std::string& name, int64_t groups, Layer layer) {
    if (groups > kMostGroups) {
      throw DataError(core::cat("scalesim: layer '", name, "' has ", groups,
                                " groups, expected at most ", kMostGroups));
    }
    for (int64_t group = 0; group < groups; ++group) {
      layer.name = fresh(groups > 1 ? core::cat(name, "_group", group) : name);
      text_ += line_of(layer);
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::string fresh(const std::string& name) {
    std::string out = name;
    for (int use = 2; !taken_.insert(out).second; ++use) out = core::cat(name, "_", use);
    return out;
  }

  std::string text_ = kTitles;
  std::set<std::string> taken_;
};

}  // namespace

std::string topology_csv(const layers::Table& table) {
  Lines lines;
  for (const layers::Row& row : table.rows) {
    if (!layers::is_product(row)) continue;
    const std::string name = plain_name(row.name);
    const bool depthwise = is_plain(row) && row.groups > 1 && row.groups == row.input[0];
    Layer layer = is_plain(row) ? convolution(row) : product(row);
    if (depthwise) layer.channels = row.groups;  // SCALE-Sim runs one after another
    lines.add(depthwise ? "DP_" + name : name, depthwise ? 1 : row.groups, layer);
  }
  if (lines.text() == kTitles) {
    throw DataError("scalesim: '" + table.model + "' has no product to write");
  }
  return lines.text();
}

std::string products_csv(const std::vector<Product>& products) {
  Lines lines;
  for (const Product& product : products) {
    lines.add(plain_name(product.name), product.groups,
              {"", product.m, product.k, 1, product.k, 1, product.n, 1});
  }
  return lines.text();
}

}  // namespace adagp::scalesim

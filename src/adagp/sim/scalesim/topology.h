#pragma once
// SCALE-Sim's topology tables: one layer per line, as convolutions or as matrix products.

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/sim/layers/table.h"

namespace adagp::scalesim {

// A convolution without padding (the ifmap's size holds it). A product of MxK and KxN is an ifmap
// of MxK under a filter of 1xK, N times.
struct Layer {
  std::string name;
  int64_t ifmap_h = 0, ifmap_w = 0;
  int64_t filter_h = 0, filter_w = 0;
  int64_t channels = 0, filters = 0;
  int64_t stride = 1;

  // SCALE-Sim rounds up where PyTorch rounds down: (ifmap - filter) / stride, plus one.
  int64_t ofmap_h() const { return (ifmap_h - filter_h + stride - 1) / stride + 1; }
  int64_t ofmap_w() const { return (ifmap_w - filter_w + stride - 1) / stride + 1; }
};

struct Topology {
  std::string name;  // of the file, without folder and ending
  std::vector<Layer> layers;
};

enum class TopologyKind { kConv, kGemm };

// "conv" or "gemm"; throws UsageError.
TopologyKind parse_kind(const std::string& text);

// The first line holds titles. A trailing comma, an N:M sparsity ratio (read, not modelled), a byte
// order mark and Windows line ends are accepted. A convolution with "DP" in its name is depthwise:
// it becomes one layer per channel, as in SCALE-Sim. Throws DataError with file, line, column,
// value and rule for anything else, for two layers of one name and for sizes beyond 64 bits.
Topology parse_topology(const std::string& text, const std::string& file_name, TopologyKind kind);

// The same layers as a layer table, with the rounded-up output sizes.
layers::Table to_table(const Topology& topology);

// The products of a layer table as a topology of convolutions, with the same MACs. What SCALE-Sim's
// convolutions cannot say (a third axis, dilation, two strides, transposed ones) is written as the
// matrix product that it is, groups as a line each. Of a depthwise layer the name begins with "DP";
// other names do not hold "DP", nor commas. Throws DataError when there is no product.
std::string topology_csv(const layers::Table& table);

// `groups` matrix products of [M, K] and [K, N].
struct Product {
  std::string name;
  int64_t groups = 1, m = 1, k = 1, n = 1;
};
// The same of products: every group is a line.
std::string products_csv(const std::vector<Product>& products);

}  // namespace adagp::scalesim

#include "adagp/sim/scalesim/topology.h"

#include <array>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"

namespace adagp::scalesim {
namespace {

const std::string kTitles =
    "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
    "Strides,\n";

Topology conv(const std::string& lines) {
  return parse_topology(kTitles + lines, "dir/net.csv", TopologyKind::kConv);
}

std::string error_of(const std::string& text, TopologyKind kind = TopologyKind::kConv) {
  try {
    parse_topology(text, "net.csv", kind);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Topology, ReadsConvolutionsWithAndWithoutTrailingComma) {
  for (const char* line :
       {"conv1, 34, 36, 3, 5, 3, 64, 2,\n", "conv1,34,36,3,5,3,64,2\n",
        "conv1, 34, 36, 3, 5, 3, 64, 2, 1:1,\n", "conv1, 34, 36, 3, 5, 3, 64, 2, 2:4"}) {
    const Topology topology = conv(line);
    ASSERT_EQ(topology.layers.size(), 1u) << line;
    const Layer& layer = topology.layers[0];
    EXPECT_EQ(topology.name, "net");
    EXPECT_EQ(layer.name, "conv1");
    EXPECT_EQ(layer.ifmap_w, 36);
    EXPECT_EQ(layer.filter_w, 5);
    EXPECT_EQ(layer.filters, 64);
    EXPECT_EQ(layer.stride, 2);
    // ceil((34-3)/2)+1 and ceil((36-5)/2)+1.
    EXPECT_EQ(layer.ofmap_h(), 17);
    EXPECT_EQ(layer.ofmap_w(), 17);
  }
}

TEST(Topology, ReadsProducts) {
  const Topology topology =
      parse_topology("Layer, M, N, K,\nqkv, 20, 192, 64,\n", "t.csv", TopologyKind::kGemm);
  const Layer& layer = topology.layers.at(0);
  EXPECT_EQ(layer.ofmap_h() * layer.ofmap_w(), 20);
  EXPECT_EQ(layer.filter_h * layer.filter_w * layer.channels, 64);
  EXPECT_EQ(layer.filters, 192);
}

TEST(Topology, DepthwiseRowsBecomeOneLayerPerChannel) {
  const Topology topology = conv("DP_a, 10, 10, 3, 3, 4, 1, 1,\nb, 8, 8, 1, 1, 4, 16, 1,\n");
  ASSERT_EQ(topology.layers.size(), 5u);
  EXPECT_EQ(topology.layers[3].name, "DP_aChannel_3");
  EXPECT_EQ(topology.layers[3].channels, 1);
  EXPECT_EQ(topology.layers[4].channels, 4);
}

TEST(Topology, TakesWindowsLinesByteOrderMarkAndEmptyLines) {
  const Topology topology = parse_topology(
      "\xEF\xBB\xBFLayer name, a, b, c, d, e, f, g,\r\n\r\nx, 4, 4, 2, 2, 1, 1, 1,\r\n  \r\n",
      "net.csv", TopologyKind::kConv);
  EXPECT_EQ(topology.layers.at(0).name, "x");
}

TEST(Topology, AsALayerTable) {
  const layers::Table table = to_table(conv("a, 34, 34, 3, 3, 8, 16, 2,\n"));
  const layers::Row& row = table.rows.at(0);
  EXPECT_EQ(row.output, (std::array<int64_t, 3>{16, 17, 17}));
  EXPECT_EQ(row.macs, 17 * 17 * 9 * 8 * 16);
  EXPECT_EQ(row.weights, 9 * 8 * 16);
}

TEST(Topology, MessagesNamePlaceValueAndRule) {
  EXPECT_EQ(error_of(kTitles + "a, 34, 34, 3, x, 8, 16, 1,\n"),
            "net.csv:2:15: filter width is 'x', expected a whole number");
  EXPECT_EQ(error_of(kTitles + "a, 34, 34, 3, 3, 8, 0, 1,\n"),
            "net.csv:2:21: filters is 0, expected at least 1");
  EXPECT_EQ(error_of(kTitles + "a, 34, 34, 3, 3, 8, -2, 1,\n"),
            "net.csv:2:21: filters is -2, expected at least 1");
  EXPECT_EQ(error_of(kTitles + "a, 2, 34, 3, 3, 8, 16, 1,\n"),
            "net.csv:2:11: filter height is 3, larger than the IFMAP's 2 (padding is part of the "
            "IFMAP's size)");
  EXPECT_EQ(error_of(kTitles + "a, 34, 34, 3, 3, 8, 16,\n"),
            "net.csv:2: 7 columns, expected 8 (name, IFMAP height, IFMAP width, filter height, "
            "filter width, channels, filters, stride)");
  EXPECT_EQ(error_of(kTitles + "a, 4, 4, 1, 1, 1, 1, 1,\na, 4, 4, 1, 1, 1, 1, 1,\n"),
            "net.csv:3: a second layer named 'a'; names must differ");
  EXPECT_EQ(error_of(kTitles + ", 4, 4, 1, 1, 1, 1, 1,\n"), "net.csv:2:1: the layer has no name");
  EXPECT_EQ(error_of("M,N,K\nq, 3, 4,\n", TopologyKind::kGemm),
            "net.csv:2: 3 columns, expected 4 (name, M, N, K)");
}

TEST(Topology, EmptyFilesAndSizesOutOfRange) {
  EXPECT_NE(error_of("").find("no layers"), std::string::npos);
  EXPECT_NE(error_of(kTitles).find("no layers"), std::string::npos);
  const std::string big = "9000000000000";
  EXPECT_NE(error_of(kTitles + "a, " + big + ", " + big + ", 1, 1, 1, 1, 1,\n").find("2^60"),
            std::string::npos);
  EXPECT_NE(error_of(kTitles + "a, 3, 99999999999999999999, 1, 1, 1, 1, 1,\n").find("whole number"),
            std::string::npos);
  EXPECT_NE(error_of(kTitles + "DP, 4, 4, 1, 1, 9000000, 1, 1,\n").find("layers"),
            std::string::npos);
}

TEST(Topology, Kinds) {
  EXPECT_EQ(parse_kind("gemm"), TopologyKind::kGemm);
  EXPECT_THROW(parse_kind("mnk"), UsageError);
}

TEST(Topology, OfALayerTableHasItsMacs) {
  layers::Table table{"net", "x", {}};
  const auto add = [&](const char* name, const char* op, std::array<int64_t, 3> in,
                       std::array<int64_t, 3> out, int64_t groups, int64_t kernel) {
    layers::Row row;
    row.name = name;
    row.op = op;
    row.input = in;
    row.output = out;
    row.groups = groups;
    row.kernel = {kernel, kernel};
    layers::complete(row);
    table.rows.push_back(row);
  };
  add("plain", "conv2d", {4, 9, 9}, {6, 7, 7}, 1, 3);
  add("DPN", "conv2d", {4, 9, 9}, {8, 7, 7}, 2, 3);  // "DP" would mean depthwise
  add("depth,wise", "conv2d", {4, 9, 9}, {8, 7, 7}, 4, 3);
  add("head", "linear", {10, 1, 3}, {5, 1, 3}, 1, 1);
  add("up", "conv_transpose", {4, 3, 3}, {6, 4, 4}, 1, 2);
  add("norm", "batch_norm", {4, 3, 3}, {4, 3, 3}, 1, 1);
  const std::string text = topology_csv(table);
  const Topology read = parse_topology(text, "net.csv", TopologyKind::kConv);
  EXPECT_EQ(layers::total_macs(to_table(read)), layers::total_macs(table)) << text;
  EXPECT_EQ(read.layers.size(), 1u + 2 + 4 + 1 + 1);
  EXPECT_THROW(topology_csv({"net", "x", {}}), DataError);
}

}  // namespace
}  // namespace adagp::scalesim

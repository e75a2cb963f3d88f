#include "adagp/sim/layers/onnx.h"

#include <array>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "unit/layer_table/onnx_bytes.h"
#include "unit/temp_folder.h"

namespace adagp::layers {
namespace {

using testing::OnnxAttributes;
using testing::OnnxBytes;

Exported read(const OnnxBytes& made, const OnnxInputs& inputs = {}) {
  return parse_onnx(made.file(), "net", "net.onnx", inputs);
}

Row only_row(const OnnxBytes& made, const OnnxInputs& inputs = {}) {
  const Exported found = read(made, inputs);
  EXPECT_EQ(found.table.rows.size(), 1);
  EXPECT_TRUE(found.table.uncounted.empty());
  return found.table.rows.empty() ? Row{} : found.table.rows[0];
}

using Shape3 = std::array<int64_t, 3>;

// 6 -> 4 channels of 9x9 in 2 groups, stride 2 and 1, dilation 1 and 2, uneven padding: by hand
// (9 + 1 - 3) / 2 + 1 = 4 high, as without padding, and (9 + 2 + 2 - 5) + 1 = 9 wide.
TEST(Onnx, AConvolutionWithAllItsNumbers) {
  OnnxBytes made;
  made.input("x", {3, 6, 9, 9}).weight("c.weight", {4, 3, 3, 3}).weight("c.bias", {4});
  made.node("Conv", {"x", "c.weight", "c.bias"}, {"y"},
            OnnxAttributes()
                .integers("strides", {2, 1})
                .integers("dilations", {1, 2})
                .integers("pads", {0, 2, 1, 2})
                .integer("group", 2));
  const Row row = only_row(made);
  EXPECT_EQ(row.name, "c");
  EXPECT_EQ(row.op, "conv2d");
  EXPECT_EQ(row.input, (Shape3{6, 9, 9}));
  EXPECT_EQ(row.output, (Shape3{4, 4, 9}));
  EXPECT_EQ(row.groups, 2);
  EXPECT_EQ(row.padding, (std::array<int64_t, 2>{0, 2}));
  EXPECT_EQ(row.macs, 4 * 4 * 9 * 3 * 3 * 3);
  EXPECT_EQ(row.bias, 4);
}

TEST(Onnx, ConvolutionsOfOneAndThreeAxesDepthwiseAndTransposed) {
  OnnxBytes wave;
  wave.input("x", {2, 4, 16}).weight("w", {4, 1, 5});
  wave.node("Conv", {"x", "w"}, {"y"},
            OnnxAttributes().integer("group", 4).text("auto_pad", "SAME_UPPER"));
  EXPECT_EQ(only_row(wave).output, (Shape3{4, 1, 16}));
  EXPECT_EQ(only_row(wave).macs, 4 * 16 * 5);
  OnnxBytes film;
  film.input("x", {2, 3, 4, 8, 8}).weight("w", {5, 3, 2, 3, 3});
  film.node("Conv", {"x", "w"}, {"y"}, OnnxAttributes().integers("pads", {0, 1, 1, 0, 1, 1}));
  EXPECT_EQ(only_row(film).op, "conv3d");
  EXPECT_EQ(only_row(film).macs, 5 * 3 * 8 * 8 * 3 * 2 * 3 * 3);
  OnnxBytes up;
  up.input("x", {2, 6, 5, 5}).weight("w", {6, 2, 4, 4});
  up.node("ConvTranspose", {"x", "w"}, {"y"},
          OnnxAttributes()
              .integers("strides", {2, 2})
              .integers("pads", {1, 1, 1, 1})
              .integer("group", 2));
  EXPECT_EQ(only_row(up).op, "conv_transpose");
  EXPECT_EQ(only_row(up).output, (Shape3{4, 10, 10}));
  EXPECT_EQ(only_row(up).macs,
            25 * 6 * 2 * 16);  // every input pixel meets the weights of its group
}

TEST(Onnx, ProductsOfWeightsAndOfActivations) {
  OnnxBytes made;
  made.input("x", {2, 7, 12}).weight("a.weight", {12, 8}).weight("b.weight", {5, 8});
  made.numbers("rows", {-1, 8});
  made.node("MatMul", {"x", "a.weight"}, {"a"});
  made.node("Transpose", {"a"}, {"t"}, OnnxAttributes().integers("perm", {0, 2, 1}));
  made.node("MatMul", {"a", "t"}, {"scores"});
  made.node("Softmax", {"scores"}, {"p"});
  made.node("MatMul", {"p", "a"}, {"mixed"});
  made.node("Reshape", {"mixed", "rows"}, {"flat"});
  made.node("Gemm", {"flat", "b.weight"}, {"y"}, OnnxAttributes().integer("transB", 1));
  const Table table = read(made).table;
  ASSERT_EQ(table.rows.size(), 5);
  EXPECT_EQ(table.rows[0].name, "a");
  EXPECT_EQ(table.rows[0].macs, 7 * 12 * 8);
  EXPECT_EQ(table.rows[1].op, "matmul");
  EXPECT_EQ(table.rows[1].macs, 7 * 8 * 7);
  EXPECT_EQ(table.rows[3].macs, 7 * 7 * 8);
  EXPECT_EQ(table.rows[4].name, "b");
  EXPECT_EQ(table.rows[4].macs, 7 * 8 * 5);
}

// 5 steps of 3 -> 4 with 4 gates, in both directions.
TEST(Onnx, RecurrentLayersAreAProductAStep) {
  OnnxBytes made;
  made.input("x", {5, 2, 3}).weight("W", {2, 16, 3}).weight("R", {2, 16, 4}).weight("B", {2, 32});
  made.node("LSTM", {"x", "W", "R", "B"}, {"y", "", "c"},
            OnnxAttributes().integer("hidden_size", 4));
  const Exported found = read(made, {2, {}});
  EXPECT_EQ(total_macs(found.table), 2 * 5 * 16 * (3 + 4));
  EXPECT_EQ(total_weights(found.table), 2 * 16 * (3 + 4));
  EXPECT_EQ(found.table.rows[0].name, "W[0]");
}

// Eight heads of four keys, and no projection: [batch, positions, heads x width].
TEST(Onnx, AttentionAsOneOperator) {
  OnnxBytes made;
  made.input("q", {2, 5, 32}).input("k", {2, 7, 32});
  made.node("Attention", {"q", "k", "k"}, {"y"},
            OnnxAttributes().integer("q_num_heads", 8).integer("kv_num_heads", 8));
  const Table table = read(made).table;
  EXPECT_EQ(total_macs(table), 2 * 8 * 5 * 7 * 4);
  EXPECT_EQ(table.rows[0].groups, 8);
}

// Exporters compute the sizes of a reshaping from the input's, node by node.
TEST(Onnx, SizesThatNodesComputeAreFollowed) {
  OnnxBytes made;
  made.input("x", {-1, 6, 4, 4}).numbers("zero", {0}).numbers("rest", {-1}).numbers("two", {2});
  made.weight("fc.weight", {10, 96});
  made.node("Shape", {"x"}, {"shape"});
  made.node("Slice", {"shape", "zero", "two"}, {"front"});
  made.node("Gather", {"front", "zero"}, {"n"});
  made.node("Concat", {"n", "rest"}, {"to"}, OnnxAttributes().integer("axis", 0));
  made.node("Reshape", {"x", "to"}, {"flat"});
  made.node("Gemm", {"flat", "fc.weight"}, {"y"}, OnnxAttributes().integer("transB", 1));
  for (const int64_t batch : {0, 1, 4}) {
    const Exported found = read(made, {batch, {}});
    EXPECT_EQ(found.batch, std::max<int64_t>(1, batch));
    EXPECT_NE(found.note.find("a free batch"), std::string::npos) << found.note;
    ASSERT_EQ(found.table.rows.size(), 1) << "sizes are no rows";
    EXPECT_EQ(found.table.rows[0].macs, 960);
    EXPECT_EQ(found.table.input, "6x4x4");
  }
}

TEST(Onnx, FreeSizesAreAskedFor) {
  OnnxBytes made;
  made.input("x", {-1, 3, -1, -1}).weight("w", {2, 3, 1, 1}).node("Conv", {"x", "w"}, {"y"});
  try {
    read(made);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("s0x3xs2xs3"), std::string::npos) << error.what();
  }
  EXPECT_EQ(only_row(made, {0, parse_onnx_sizes("3x5x6")}).macs, 5 * 6 * 6);
  EXPECT_EQ(only_row(made, {0, {{"x", {4, 3, 5, 6}}}}).macs, 5 * 6 * 6);
  for (const char* wrong : {"2x5x6", "5x6", "3x5x6,7"}) {
    EXPECT_THROW(read(made, {0, parse_onnx_sizes(wrong)}), UsageError) << wrong;
  }
  EXPECT_THROW(read(made, {0, {{"z", {3, 5, 6}}}}), UsageError);
  for (const char* wrong : {"", "3x", "0x5", "a", "-1x2"}) {
    EXPECT_THROW(parse_onnx_sizes(wrong), UsageError) << wrong;
  }
}

TEST(Onnx, ABatchThatIsNotThatOfTheInputIsRefused) {
  OnnxBytes made;
  made.input("x", {-1, 3, -1, -1}).weight("w", {2, 3, 1, 1}).node("Conv", {"x", "w"}, {"y"});
  EXPECT_THROW(read(made, {8, parse_onnx_sizes("1x3x8x8")}), UsageError);
  EXPECT_EQ(read(made, {8, parse_onnx_sizes("8x3x5x5")}).batch, 8);
  EXPECT_EQ(read(made, {8, parse_onnx_sizes("3x5x5")}).batch, 8);
}

// How many numbers NonZero gives depends on them.
TEST(Onnx, WhatMultipliesNothingDoesSoOfUnknownSizes) {
  OnnxBytes made;
  made.input("x", {2, 4}).weight("w", {4, 3}).node("NonZero", {"x"}, {"n"});
  made.node("Relu", {"n"}, {"a"}).node("Add", {"a", "n"}, {"b"}).node("Softmax", {"b"}, {"c"});
  made.node("Concat", {"b", "c"}, {"d"}, OnnxAttributes().integer("axis", 0));
  made.node("Gather", {"d", "n"}, {"e"}).node("MatMul", {"x", "w"}, {"y"});
  const Table table = read(made).table;
  EXPECT_EQ(total_macs(table), 12);
  for (const Uncounted& one : table.uncounted) EXPECT_EQ(one.macs, 0) << one.name;
}

// Exporters write scales of type double as numbers of their own.
TEST(Onnx, DoublesAreRead) {
  io::WireWriter doubles, scales;
  for (const double scale : {1.0, 1.0, 2.0, 2.0}) doubles.append(scale);
  scales.varint(1, 4);
  scales.varint(2, 11);
  scales.bytes(8, "scales");
  scales.bytes(10, doubles.str());
  OnnxBytes made;
  made.input("x", {1, 3, 4, 4}).weight("w", {2, 3, 1, 1}).part(5, scales.str());
  made.node("Resize", {"x", "", "scales"}, {"large"}).node("Conv", {"large", "w"}, {"y"});
  EXPECT_EQ(read(made).table.rows.at(0).output, (Shape3{2, 8, 8}));
}

TEST(Onnx, WhatIsNotCountedIsNamedWithItsNode) {
  OnnxBytes made;
  made.input("x", {2, 4, 9}).weight("w", {9, 3});
  made.node("Det", {"x"}, {"d"}, {}, "odd");
  made.node("FusedThing", {"d"}, {"f"}, {}, "/block/thing/FusedThing", "com.vendor");
  made.node("MatMul", {"f", "w"}, {"y"}, {}, "last");
  const Table table = read(made).table;
  ASSERT_EQ(table.uncounted.size(), 3);
  EXPECT_EQ(table.uncounted[0].name, "odd/Det");
  EXPECT_EQ(table.uncounted[0].op, "onnx.Det");
  EXPECT_FALSE(table.uncounted[0].macs);
  EXPECT_EQ(table.uncounted[1].name, "block.thing/com.vendor.FusedThing");
  EXPECT_EQ(table.uncounted[2].name, "last/MatMul");
  EXPECT_NE(table.uncounted[2].op.find("sizes not known"), std::string::npos);
  // Where the file says the sizes, what follows has rows.
  made.says("f", {2, 4, 9});
  EXPECT_EQ(read(made).table.rows.size(), 1);
}

TEST(Onnx, SizesOfTheFileAndOfTheNodesMustAgree) {
  OnnxBytes made;
  made.input("x", {2, 4}).weight("w", {4, 3}).node("MatMul", {"x", "w"}, {"y"}).says("y", {2, 5});
  try {
    read(made);
    FAIL() << "accepted";
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(),
                 "net.onnx: MatMul 'y': gives 'y' the sizes 2x3, but the file says 2x5");
  }
}

TEST(Onnx, FunctionsAndKnownBranchesAreFollowed) {
  io::WireWriter twice;  // y = Elu?(x w) w, with the axis of a softmax handed over
  twice.bytes(1, "Twice");
  twice.bytes(10, "mine");
  twice.bytes(4, "x");
  twice.bytes(4, "w");
  twice.bytes(5, "y");
  twice.bytes(7, testing::node_message("MatMul", {"x", "w"}, {"a"}));
  twice.bytes(7, testing::node_message("Concat", {"a", "a"}, {"b"},
                                       OnnxAttributes().reference("axis", "where")));
  twice.bytes(7, testing::node_message("MatMul", {"b", "w"}, {"y"}));
  OnnxBytes made;
  made.input("x", {1, 4}).weight("w.weight", {4, 4}).function(twice.str());
  made.node("Twice", {"x", "w.weight"}, {"y"}, OnnxAttributes().integer("where", 0), "", "mine");
  made.numbers("yes", {1});
  OnnxBytes then, otherwise;
  then.node("MatMul", {"y", "w.weight"}, {"y2"}).output("y2");
  otherwise.node("Det", {"y"}, {"y2"}).output("y2");
  made.node(
      "If", {"yes"}, {"z"},
      OnnxAttributes().graph("then_branch", then.graph()).graph("else_branch", otherwise.graph()));
  const Table table = read(made).table;
  EXPECT_EQ(total_macs(table), 16 + 2 * 16 + 2 * 16);
  EXPECT_EQ(total_weights(table), 16);
  EXPECT_TRUE(table.uncounted.empty());
}

// Sizes, axes and conditions are of these; weights are not read at all.
TEST(Onnx, WeightsOutsideTheFileAreNotOpened) {
  OnnxBytes made;
  io::WireWriter place, tensor;
  place.bytes(1, "location");
  place.bytes(2, "/dev/zero");
  tensor.varint(1, 4);
  tensor.varint(1, 3);
  tensor.varint(2, 1);
  tensor.bytes(8, "w");
  tensor.bytes(13, place.str());
  tensor.varint(14, 1);
  made.input("x", {2, 4}).part(5, tensor.str()).node("MatMul", {"x", "w"}, {"y"});
  EXPECT_EQ(only_row(made).macs, 12);
  EXPECT_EQ(read(made).parameters, 12);
}

}  // namespace
}  // namespace adagp::layers

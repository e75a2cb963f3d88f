#include "adagp/sim/layers/table.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::layers {
namespace {

// AlexNet's second layer in its original two groups, a head, and a name that needs quoting.
Table example() {
  Table table{"alex,net", "tokens:4,7", {}};
  Row conv;
  conv.name = "features.\"3\"";
  conv.op = "conv2d";
  conv.input = {96, 27, 27};
  conv.output = {256, 27, 27};
  conv.kernel = {5, 5};
  conv.padding = {2, 2};
  conv.groups = 2;
  conv.bias = 256;
  complete(conv);
  Row linear;
  linear.name = "fc";
  linear.op = "linear";
  linear.input = {256, 1, 7};
  linear.output = {10, 1, 7};
  complete(linear);
  table.rows = {conv, linear};
  return table;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& csv) {
  try {
    from_csv(csv, "t.csv");
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

TEST(LayerTable, DerivesSizesFromShapes) {
  const Table table = example();
  EXPECT_EQ(table.rows[0].weights, 256 * 48 * 25);
  EXPECT_EQ(table.rows[0].macs, 223'948'800);  // the count usually given for this layer
  EXPECT_EQ(table.rows[0].input_bytes, 4 * 96 * 27 * 27);
  EXPECT_EQ(table.rows[1].weights, 2560);
  EXPECT_EQ(table.rows[1].macs, 2560 * 7);
  EXPECT_EQ(total_macs(table), 223'948'800 + 17'920);
  EXPECT_EQ(total_weights(table), 307'200 + 2560);
}

TEST(LayerTable, CsvReadsBackAsWritten) {
  const Table table = example();
  const Table back = from_csv(to_csv(table), "t.csv");
  EXPECT_EQ(back.model, table.model);
  EXPECT_EQ(back.input, table.input);
  ASSERT_EQ(back.rows.size(), 2u);
  EXPECT_EQ(back.rows[0].name, table.rows[0].name);
  EXPECT_EQ(back.rows[0].kernel, table.rows[0].kernel);
  EXPECT_EQ(back.rows[0].padding, table.rows[0].padding);
  EXPECT_EQ(back.rows[0].groups, 2);
  EXPECT_EQ(back.rows[1].bias, 0);
  EXPECT_EQ(to_csv(back), to_csv(table));
}

TEST(LayerTable, FrozenRowsHaveAColumnOfTheirOwn) {
  EXPECT_EQ(to_csv(example()).find("frozen"), std::string::npos);
  Table table = example();
  table.rows[0].frozen = 1;
  const std::string text = to_csv(table);
  const Table back = from_csv(text, "t.csv");
  EXPECT_EQ(back.rows[0].frozen, 1);
  EXPECT_EQ(back.rows[1].frozen, 0);
  EXPECT_EQ(to_csv(back), text);
  const auto json = nlohmann::json::parse(to_json(table));
  EXPECT_EQ(json["layers"][0].value("frozen", false), true);
  EXPECT_FALSE(json["layers"][1].contains("frozen"));
  // The last number of the last line.
  const std::string wrong = text.substr(0, text.size() - 2) + "2\n";
  EXPECT_NE(error_of(wrong).find("(frozen) is 2, expected at most 1"), std::string::npos);
}

TEST(LayerTable, CsvTakesWindowsLineEnds) {
  std::string text;
  for (const char c : to_csv(example()))
    text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(to_csv(from_csv(text, "t.csv")), to_csv(example()));
}

TEST(LayerTable, CsvTakesAByteOrderMark) {
  EXPECT_EQ(to_csv(from_csv("\xEF\xBB\xBF" + to_csv(example()), "t.csv")), to_csv(example()));
}

// Attention of 8 heads, 64 wide, 20 queries over 30 keys: 8 products [20, 64] x [64, 30].
TEST(LayerTable, ProductsOfActivationsHaveNoWeights) {
  Row row;
  row.name = "attention/matmul";
  row.op = "matmul";
  row.input = {64 * 8, 1, 20};
  row.output = {30 * 8, 1, 20};
  row.groups = 8;
  complete(row);
  EXPECT_EQ(row.macs, 8 * 20 * 64 * 30);
  EXPECT_EQ(row.weights, 0);
  EXPECT_EQ(row.input_bytes, 4 * 8 * (20 * 64 + 64 * 30));  // queries and keys
  EXPECT_EQ(row.output_bytes, 4 * 8 * 20 * 30);
  EXPECT_TRUE(is_product(row));
  const Table table{"m", "tokens:20,30", {row}};
  EXPECT_EQ(to_csv(from_csv(to_csv(table), "t.csv")), to_csv(table));
}

// A film of 2 channels, 5 frames of 7x7, seen through 3x3x3 windows with gaps of one pixel.
Row film() {
  Row row;
  row.name = "film";
  row.op = "conv3d";
  row.input = {2, 7, 7};
  row.output = {4, 3, 3};
  row.kernel = {3, 3};
  row.dilation = {2, 2};
  row.depth = {5, 3, 3, 1, 0, 1};
  complete(row);
  return row;
}

// Twice as large: every pixel becomes 2x2.
Row up() {
  Row row;
  row.name = "up";
  row.op = "conv_transpose";
  row.input = {4, 3, 3};
  row.output = {6, 6, 6};
  row.kernel = row.stride = {2, 2};
  row.groups = 2;
  complete(row);
  return row;
}

TEST(LayerTable, DepthDilationAndTransposition) {
  EXPECT_EQ(film().weights, 4 * 2 * 27);
  EXPECT_EQ(film().macs, 4 * 2 * 27 * 3 * 3 * 3);
  EXPECT_EQ(film().input_bytes, 4 * 2 * 5 * 7 * 7);
  EXPECT_EQ(film().output_bytes, 4 * 4 * 3 * 3 * 3);
  EXPECT_EQ(up().weights, 4 * 6 / 2 * 4);
  EXPECT_EQ(up().macs, 4 * 6 / 2 * 4 * 9);  // input pixels
  Table table = example();
  const std::string header = to_csv(table).substr(0, to_csv(table).find('\n'));
  EXPECT_EQ(header.find("dilation"), std::string::npos);  // only where a row needs them
  table.rows.push_back(up());
  EXPECT_EQ(to_csv(table).substr(0, header.size() + 1), header + "\n");
  table.rows.push_back(film());
  const Table back = from_csv(to_csv(table), "t.csv");
  EXPECT_EQ(to_csv(back), to_csv(table));
  EXPECT_EQ(back.rows[3].depth, film().depth);
  EXPECT_EQ(back.rows[3].dilation, film().dilation);
  EXPECT_EQ(back.rows[0].depth, Depth{});
}

TEST(LayerTable, UncountedOperationsStayWithTheTable) {
  Table table = example();
  EXPECT_EQ(missing_text(table), "");
  table.uncounted = {{"a/mul", "torch.ops.aten.mul.Tensor", 0, 12}};
  EXPECT_EQ(missing_text(table), "");  // it has no MACs
  table.uncounted.push_back({"b/odd", "torch.ops.my.odd, \"new\"", total_macs(table), 2});
  EXPECT_DOUBLE_EQ(missing(table).share, 0.5);
  EXPECT_EQ(missing_text(table), "50.0 % of the network's MACs are missing: b/odd (" +
                                     core::grouped(total_macs(table)) + " MACs)");
  table.uncounted.push_back({"c/fft", "torch.ops.aten.fft", {}, 3});
  EXPECT_EQ(missing(table).unknown, 3);
  const Table back = from_csv(to_csv(table), "t.csv");
  EXPECT_EQ(to_csv(back), to_csv(table));
  EXPECT_EQ(missing_text(back), missing_text(table));
  EXPECT_EQ(back.uncounted[1].op, table.uncounted[1].op);
  EXPECT_EQ(back.uncounted[1].times, 2);
  const auto json = nlohmann::json::parse(to_json(table));
  EXPECT_EQ(json["missing"]["share"], 0.5);
  EXPECT_EQ(json["missing"]["unknown_operations"], 3);
  EXPECT_EQ(json["uncounted"][1]["macs"], total_macs(table));
  EXPECT_TRUE(json["uncounted"][2]["macs"].is_null());
}

TEST(LayerTable, VectorOperationsKeepTheirParameters) {
  Row norm;
  norm.name = "conv1/batch_norm";
  norm.op = "batch_norm";
  norm.input = norm.output = {64, 8, 8};
  norm.weights = norm.bias = 64;
  complete(norm);
  EXPECT_EQ(norm.macs, 0);
  EXPECT_EQ(norm.weights, 64);
  EXPECT_EQ(norm.input_bytes, 4 * 64 * 64);
  Row add = norm;
  add.name = "conv1/add";
  add.op = "add";
  add.weights = add.bias = 0;
  complete(add);
  EXPECT_EQ(add.input_bytes, 2 * norm.input_bytes);
  EXPECT_FALSE(is_product(add));
  Table table = example();
  table.rows.push_back(norm);
  table.rows.push_back(add);
  EXPECT_EQ(to_csv(from_csv(to_csv(table), "t.csv")), to_csv(table));
  EXPECT_EQ(total_macs(table), total_macs(example()));
  EXPECT_EQ(total_weights(table), total_weights(example()));  // of products
}

TEST(LayerTable, WeightsUsedTwiceCountOnce) {
  Table table = example();
  Row again = table.rows[1];
  again.name = "fc#2";
  table.rows.push_back(again);
  EXPECT_EQ(total_weights(table), total_weights(example()));
  EXPECT_EQ(total_macs(table), total_macs(example()) + again.macs);
  for (const std::string name : {"fc", "fc#", "fc#a", "#2b"}) {
    again.name = name;
    EXPECT_FALSE(is_repeated(again)) << name;
  }
}

TEST(LayerTable, SumsBeyond64BitsAreRefused) {
  Row row;
  row.name = "a";
  row.op = "linear";
  row.input = {int64_t{1} << 30, 1, 1};
  row.output = {int64_t{1} << 31, 1, 1};
  complete(row);
  Table table{"m", "i", {}};
  for (const std::string name : {"a", "b", "c", "d"}) {
    row.name = name;
    table.rows.push_back(row);
  }
  std::string csv = "";
  try {
    csv = to_csv(table);
    from_csv(csv, "t.csv");
    FAIL() << "4 x 2^61 MACs were taken";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("layer d"), std::string::npos) << error.what();
  }
}

TEST(LayerTable, JsonHoldsEveryRowAndTheTotals) {
  const Table table = example();
  const auto json = nlohmann::json::parse(to_json(table));
  EXPECT_EQ(json["model"], "alex,net");
  EXPECT_EQ(json["macs"], total_macs(table));
  ASSERT_EQ(json["layers"].size(), 2u);
  EXPECT_EQ(json["layers"][0]["groups"], 2);
  EXPECT_EQ(json["layers"][0]["output"], (std::vector<int>{256, 27, 27}));
}

TEST(LayerTable, ErrorsNameFileAndLine) {
  const std::string good = to_csv(example());
  Table with_depth = example();
  with_depth.rows = {up(), film()};
  const std::string wide = to_csv(with_depth);
  struct Case {
    std::string text, expected;
  };
  const Case cases[] = {
      {"", "t.csv: no layers"},
      {"a,b\n", "t.csv:1: the first line must be"},
      {good.substr(0, good.find('\n') + 1), "no layers"},
      {good + "x,y\n", "t.csv:4: 2 columns, expected 22"},
      {with(good, "fc,linear,256,", "fc,linear,abc,"), "t.csv:3: column 5 (in_c) is 'abc'"},
      {with(good, "fc,linear,256,", "fc,linear,0,"), "t.csv:3: column 5 (in_c) is 0"},
      {with(good, "fc,linear", "fc,linaer"), "t.csv:3: column 4 (op) is 'linaer'; did you mean"},
      {with(good, "307200", "307201"),
       "t.csv:2: column 19 (weights) is 307201, but the shapes give 307200"},
      {with(good, "fc,linear,256,", "fc,linear,999999999999999999,"),
       "t.csv:3: layer fc: the sizes do not fit into 64 bits"},
      {with(good, "fc,linear,256,", "fc,linear,99999999999999999999,"),
       "t.csv:3: column 5 (in_c) is '9999"},
      {with(good, "fc,linear,256,1,7,10,1,7", "fc,linear,256,1,7,10,1,8"), "same positions"},
      {with(good, "fc,linear", ",linear"), "t.csv:3: column 3 (name) is empty"},
      {with(good, ",5,5,1,1,2,2,2,", ",77,5,1,1,2,2,2,"),
       "t.csv:2: kernel_h is 77, more than the padded input's 31"},
      {with(good, ",5,5,1,1,2,2,2,", ",7,5,1,1,2,2,2,"),
       "t.csv:2: out_h is 27, but input, kernel, stride and padding give at most 25"},
      {with(good, ",5,5,1,1,2,2,2,", ",5,5,1,1,2,2,3,"),
       "groups 3 do not divide the channels 96 and 256"},
      {good + good.substr(good.find("\"alex,net\"", good.find("fc,linear") - 30)),
       "t.csv:4: column 3 (name) is 'fc', which an earlier line has too"},
      {good + "\"open,y\n", "t.csv:4: a quote is not closed"},
      {with(wide, "up,conv_transpose,4,3,3,6,6,6,", "up,conv_transpose,4,3,3,6,9,6,"),
       "out_h is 9, but input, kernel, stride and padding of a conv_transpose give 6 to 7"},
      {with(wide, ",2,2,5,3,3,1,0,1", ",3,2,5,3,3,1,0,1"), "out_h is 3"},
      {with(wide, ",2,2,5,3,3,1,0,1", ",9,2,5,3,3,1,0,1"),
       "kernel_h is 3 with dilation 9, more than the padded input's 7"},
      {with(wide, ",2,2,5,3,3,1,0,1", ",2,2,5,3,0,1,0,1"), "(kernel_d) is 0, expected at least 1"},
      {with(wide, "film,conv3d", "film,conv2d"), "a conv2d has no depth"},
      {good + "\"alex,net\",\"tokens:4,7\",a,uncounted,,,,,,,,,,,,,,5,,,,\n",
       "t.csv:4: an uncounted operation needs the columns times and operator"},
  };
  for (const Case& c : cases) {
    EXPECT_NE(error_of(c.text).find(c.expected), std::string::npos)
        << error_of(c.text) << "\nexpected " << c.expected;
  }
}

}  // namespace
}  // namespace adagp::layers

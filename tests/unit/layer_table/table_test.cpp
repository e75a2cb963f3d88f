#include "adagp/layers/table.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "adagp/core/error.h"

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

TEST(LayerTable, CsvTakesWindowsLineEnds) {
  std::string text;
  for (const char c : to_csv(example()))
    text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(to_csv(from_csv(text, "t.csv")), to_csv(example()));
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
  struct Case {
    std::string text, expected;
  };
  const Case cases[] = {
      {"", "t.csv: no layers"},
      {"a,b\n", "t.csv:1: the first line must be"},
      {good.substr(0, good.find('\n') + 1), "no layers"},
      {good + "x,y\n", "t.csv:4: 2 fields, expected 22"},
      {with(good, "fc,linear,256,", "fc,linear,abc,"), "t.csv:3: in_c is 'abc'"},
      {with(good, "fc,linear,256,", "fc,linear,0,"), "t.csv:3: in_c is 0"},
      {with(good, "fc,linear", "fc,pool"), "t.csv:3: op 'pool'"},
      {with(good, "307200", "307201"), "t.csv:2: weights is 307201, but the shapes give 307200"},
      {with(good, "fc,linear,256,", "fc,linear,999999999999999999,"), "t.csv:3: the shape"},
      {with(good, "fc,linear,256,", "fc,linear,99999999999999999999,"), "t.csv:3: in_c is '9999"},
      {good + "\"open,y\n", "t.csv:4: a quote is not closed"},
  };
  for (const Case& c : cases) {
    EXPECT_NE(error_of(c.text).find(c.expected), std::string::npos)
        << error_of(c.text) << "\nexpected " << c.expected;
  }
}

}  // namespace
}  // namespace adagp::layers

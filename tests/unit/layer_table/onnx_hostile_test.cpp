// Files that are none, and files made to hurt: each gets one line.

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/base/io/mapped_file.h"
#include "adagp/sim/layers/onnx.h"
#include "unit/layer_table/onnx_bytes.h"
#include "unit/temp_folder.h"

namespace adagp::layers {
namespace {

using testing::OnnxAttributes;
using testing::OnnxBytes;

// What the reader says to it.
std::string refusal(const std::string& bytes) {
  try {
    parse_onnx(bytes, "net", "net.onnx");
  } catch (const DataError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_TRUE(text.starts_with("net.onnx: ")) << text;
    return text;
  } catch (const UsageError& error) {
    return std::string("usage: ") + error.what();
  }
  return "accepted";
}

void expect_refused(const std::string& bytes, const std::string& why) {
  const std::string text = refusal(bytes);
  EXPECT_NE(text.find(why), std::string::npos) << text << "\nexpected: " << why;
}

OnnxBytes small() {
  OnnxBytes made;
  made.input("x", {2, 4}).weight("w", {4, 3}).numbers("s", {-1});
  made.node("MatMul", {"x", "w"}, {"y"}).node("Reshape", {"y", "s"}, {"z"});
  return made;
}

TEST(OnnxHostile, FilesThatAreCutOffOrAreNone) {
  const std::string whole = small().file();
  ASSERT_EQ(refusal(whole), "accepted");
  for (size_t count = 0; count < whole.size(); ++count) {
    EXPECT_NE(refusal(whole.substr(0, count)), "accepted") << count << " bytes";
  }
  expect_refused("no onnx", "no protobuf");
  expect_refused("", "has no graph");
  expect_refused(std::string("\x3b\x3c", 2), "no protobuf");  // groups
  expect_refused(std::string(11, '\xff'), "no protobuf");     // an endless number
  expect_refused(whole + whole, "two graphs");
}

TEST(OnnxHostile, CyclesAndUnknownNames) {
  OnnxBytes cycle;
  cycle.input("x", {2, 4}).node("Add", {"x", "b"}, {"a"}).node("Relu", {"a"}, {"b"});
  expect_refused(cycle.file(), "Add 'a': needs 'b', which nothing before it computes");
  OnnxBytes twice;
  twice.input("x", {2, 4}).node("Relu", {"x"}, {"y"}).node("Relu", {"x"}, {"y"}, {}, "second");
  expect_refused(twice.file(), "Relu 'second': two values are named 'y'");
  OnnxBytes empty;
  empty.node("Relu", {"x\n"}, {"y"});
  expect_refused(empty.file(), "has no input");
}

TEST(OnnxHostile, SizesThatAreNone) {
  OnnxBytes negative;
  negative.input("x", {2, -7}).node("Relu", {"x"}, {"y"});
  expect_refused(negative.file(), "negative size");
  OnnxBytes weight;
  weight.input("x", {2, 4}).weight("w", {4, -3}).node("MatMul", {"x", "w"}, {"y"});
  expect_refused(weight.file(), "tensor 'w' has the negative size -3");
  OnnxBytes large;
  large.input("x", {INT64_MAX, INT64_MAX}).node("Relu", {"x"}, {"y"});
  expect_refused(large.file(), "64 bits");
  OnnxBytes grown;
  grown.input("x", {2, 4}).numbers("by", {INT64_MAX, INT64_MAX});
  grown.node("Tile", {"x", "by"}, {"y"});
  expect_refused(grown.file(), "Tile 'y': the sizes do not fit into 64 bits");
  OnnxBytes many;
  many.input("x", std::vector<int64_t>(1000, 1)).node("Relu", {"x"}, {"y"});
  expect_refused(many.file(), "too many sizes");
}

TEST(OnnxHostile, OperandsThatDoNotFit) {
  const auto refuses = [](const std::string& op, const std::vector<int64_t>& input,
                          const std::vector<int64_t>& weight, const OnnxAttributes& attributes,
                          const std::string& why) {
    OnnxBytes made;
    made.input("x", input).weight("w", weight).node(op, {"x", "w"}, {"y"}, attributes);
    expect_refused(made.file(), op + " 'y': " + why);
  };
  refuses("MatMul", {2, 4}, {3, 5}, {}, "rows of 4 numbers meet columns of 3");
  refuses("Conv", {2, 4, 9, 9}, {8, 3, 3, 3}, {}, "4 channels for a weight of 3 in 1 group");
  refuses("Conv", {2, 3, 9, 9}, {8, 3, 3, 3}, OnnxAttributes().integer("group", 3),
          "3 groups of 8");
  refuses("Conv", {2, 3, 2, 2}, {8, 3, 3, 3}, {}, "the kernel is larger");
  refuses("Conv", {2, 3, 9, 9}, {8, 3, 3, 3}, OnnxAttributes().integers("strides", {0, 1}),
          "strides is 0");
  refuses("Conv", {2, 3, 9, 9}, {8, 3, 3, 3}, OnnxAttributes().integers("pads", {1, 1}),
          "pads has 2 numbers, expected 4");
  refuses("Conv", {2, 3, 9, 9}, {8, 3, 3, 3},
          OnnxAttributes().integers("dilations", {INT64_MAX, INT64_MAX}), "the sizes do not fit");
  refuses("Concat", {2, 3}, {3, 4}, OnnxAttributes().integer("axis", 1),
          "operands have other sizes");
  refuses("Transpose", {2, 3}, {3}, OnnxAttributes().integers("perm", {0, 0}),
          "perm names an axis");
}

std::string nested(int depth) {
  OnnxBytes inner;
  inner.node("Relu", {"x"}, {"y"});
  std::string graph = inner.graph();
  for (int i = 0; i < depth; ++i) {
    OnnxBytes outer;
    outer.node("Loop", {"x"}, {"y"}, OnnxAttributes().graph("body", graph));
    graph = outer.graph();
  }
  OnnxBytes made;
  made.input("x", {2, 4}).node("Loop", {"x"}, {"y"}, OnnxAttributes().graph("body", graph));
  return made.file();
}

TEST(OnnxHostile, GraphsAndFunctionsInEachOther) {
  EXPECT_EQ(refusal(nested(5)), "accepted");
  expect_refused(nested(100), "graphs lie in each other");
  expect_refused(nested(1000), "graphs lie in each other");
  io::WireWriter own;
  own.bytes(1, "F");
  own.bytes(10, "d");
  own.bytes(4, "a");
  own.bytes(5, "b");
  own.bytes(7, testing::node_message("F", {"a"}, {"b"}, {}, "", "d"));
  OnnxBytes calls_itself;
  calls_itself.input("x", {2, 4}).function(own.str()).node("F", {"x"}, {"y"}, {}, "", "d");
  expect_refused(calls_itself.file(), "lie in each other more than");
}

// Thirty functions, each of which calls the next one twice: 2^30 nodes in two kilobytes.
TEST(OnnxHostile, AFunctionThatGrowsIsStopped) {
  OnnxBytes made;
  made.input("x", {2, 4});
  for (int i = 0; i < 30; ++i) {
    const std::string next = i == 29 ? "Relu" : "F" + std::to_string(i + 1);
    const std::string domain = i == 29 ? "" : "d";
    io::WireWriter one;
    one.bytes(1, "F" + std::to_string(i));
    one.bytes(10, "d");
    one.bytes(4, "a");
    one.bytes(5, "c");
    one.bytes(7, testing::node_message(next, {"a"}, {"b"}, {}, "", domain));
    one.bytes(7, testing::node_message(next, {"b"}, {"c"}, {}, "", domain));
    made.function(one.str());
  }
  made.node("F0", {"x"}, {"y"}, {}, "", "d");
  expect_refused(made.file(), "has more than 200000 nodes");
}

// The node of a small function, called so many times.
std::string called(const std::string& name, const std::string& node, int times) {
  io::WireWriter one;
  one.bytes(1, name);
  one.bytes(10, "d");
  one.bytes(4, "a");
  one.bytes(5, "b");
  one.bytes(7, node);
  OnnxBytes made;
  made.input("x", {2, 4}).function(one.str());
  for (int i = 0; i < times; ++i) {
    made.node(name, {"x"}, {"y" + std::to_string(i)}, {}, "", "d");
  }
  return made.file();
}

// Calls multiply the operands of nodes, the bytes of names and the constants of branches, too.
TEST(OnnxHostile, WhatCallsMultiplyIsCounted) {
  const std::string much = "has more than 4000000 names and numbers";
  const std::vector<std::string> operands(50'000, "a");
  expect_refused(called("F", testing::node_message("Max", operands, {"b"}), 100), much);
  const std::string name(60'000, 'b');
  expect_refused(called("F", testing::node_message("Relu", {"a"}, {"b", name}), 4'000), much);
  EXPECT_EQ(refusal(called(name, testing::node_message("Relu", {"a"}, {"b"}), 3)), "accepted");
  OnnxBytes branch, calls;
  for (int i = 0; i < 2'000; ++i) branch.weight("w" + std::to_string(i), {1});
  branch.node("Relu", {"x"}, {"y"}).output("y");
  calls.input("x", {2, 4}).numbers("yes", {1});
  for (int i = 0; i < 300; ++i) {
    calls.node("If", {"yes"}, {"y" + std::to_string(i)},
               OnnxAttributes().graph("then_branch", branch.graph()));
  }
  expect_refused(calls.file(), "has more than 4000000");
}

TEST(OnnxHostile, ASmallFileMayBeCutWhileItIsRead) {
  const testing::TempFolder folder;
  const std::string whole = small().file();
  core::write_file(folder / "net.onnx", whole);
  const io::MappedFile file(folder / "net.onnx");
  core::fs::resize_file(folder / "net.onnx", 0);
  EXPECT_EQ(file.bytes(), whole);
}

TEST(OnnxHostile, NamesOfRowsAreOneLine) {
  OnnxBytes square;
  square.input("x", {2, 4, 4}).node("MatMul", {"x", "x"}, {"y"}, {}, "/one\ntwo/MatMul");
  square.node("Det", {"y"}, {"t"}, {}, "odd\nname");
  OnnxBytes weights;
  weights.input("x", {2, 4}).weight("a\nb.weight", {4, 4}).weight("a\rb.weight", {4, 3});
  weights.node("MatMul", {"x", "a\nb.weight"}, {"y"});
  weights.node("MatMul", {"y", "a\rb.weight"}, {"z"});
  const Table named = parse_onnx(weights.file(), "net", "net.onnx").table;
  EXPECT_EQ(named.rows.at(0).name, "a_b");
  EXPECT_NE(named.rows.at(1).name, "a_b");
  for (const Table& table : {named, parse_onnx(square.file(), "net", "net.onnx").table}) {
    for (const Row& row : table.rows) EXPECT_EQ(row.name.find_first_of("\n\r"), std::string::npos);
    for (const Uncounted& one : table.uncounted) {
      EXPECT_EQ(one.name.find('\n'), std::string::npos) << one.name;
    }
    EXPECT_NO_THROW(from_csv(to_csv(table), "net.csv"));
  }
}

TEST(OnnxHostile, FilesAreNamed) {
  const testing::TempFolder folder;
  for (const std::string name : {"absent.onnx", "empty.onnx"}) {
    if (name == "empty.onnx") core::write_file(folder / name, "");
    try {
      read_onnx(folder / name);
      FAIL() << "accepted";
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
  }
  core::write_file(folder / "small.onnx", small().file());
  EXPECT_EQ(total_macs(read_onnx(folder / "small.onnx").table), 12);
}

}  // namespace
}  // namespace adagp::layers

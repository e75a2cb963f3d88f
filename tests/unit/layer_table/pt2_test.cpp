#include "adagp/layers/pt2.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "adagp/core/error.h"
#include "unit/python.h"
#include "unit/temp_folder.h"

namespace adagp::layers {
namespace {

using nlohmann::json;

// Networks that Python exports once for all tests, and what its hooks saw of them.
const testing::TempFolder& exported() {
  static const testing::TempFolder folder;
  static const bool made = [] {
    testing::run_python("tests/unit/layer_table/python/export_models.py",
                        folder.path().string() + " 2> " + (folder / "log").string());
    return true;
  }();
  (void)made;
  return folder;
}

Exported read(const std::string& name) {
  return read_pt2(exported() / (name + ".pt2"));
}
json seen(const std::string& name) {
  return json::parse(core::read_file(exported() / (name + ".json")));
}

std::vector<Row> products(const Table& table) {
  std::vector<Row> rows;
  for (const Row& row : table.rows) {
    if (is_product(row)) rows.push_back(row);
  }
  return rows;
}

int count(const Table& table, const std::string& op) {
  int n = 0;
  for (const Row& row : table.rows) n += row.op == op ? 1 : 0;
  return n;
}

Row find(const Table& table, const std::string& name) {
  for (const Row& row : table.rows) {
    if (row.name == name) return row;
  }
  ADD_FAILURE() << "no row " << name;
  return {};
}

using Shape = std::array<int64_t, 3>;

TEST(Pt2, RowsAreWhatHooksInPythonSee) {
  for (const std::string name : {"resnet18", "resnet18-core", "mobilenet_v2", "vgg11"}) {
    const Exported found = read(name);
    const json expected = seen(name);
    const auto rows = products(found.table);
    ASSERT_EQ(rows.size(), expected["layers"].size()) << name;
    for (size_t i = 0; i < rows.size(); ++i) {
      const json& layer = expected["layers"][i];
      EXPECT_EQ(rows[i].name, layer["name"].get<std::string>()) << name;
      EXPECT_EQ(rows[i].op, layer["op"].get<std::string>()) << name << " " << rows[i].name;
      EXPECT_EQ(rows[i].input, layer["input"].get<Shape>()) << name << " " << rows[i].name;
      EXPECT_EQ(rows[i].output, layer["output"].get<Shape>()) << name << " " << rows[i].name;
      EXPECT_EQ(rows[i].macs, layer["macs"]) << name << " " << rows[i].name;
      EXPECT_EQ(rows[i].weights, layer["weights"]) << name << " " << rows[i].name;
    }
    EXPECT_EQ(found.parameters, expected["parameters"]) << name;
    EXPECT_TRUE(found.unknown.empty()) << name << " " << found.unknown.begin()->first;
    // Written as CSV it is a table like any other.
    EXPECT_EQ(to_csv(from_csv(to_csv(found.table), name)), to_csv(found.table));
  }
}

TEST(Pt2, EqualsTheTablesOfOurOwnNetworks) {
  for (const std::string name : {"resnet18", "mobilenet_v2", "vgg11"}) {
    const std::string file =
        std::string(ADAGP_SOURCE_DIR) + "/configs/layers/" + name + "-imagenet.csv";
    const auto ours = products(from_csv(core::read_file(file), file));
    const auto theirs = products(read(name).table);
    ASSERT_EQ(ours.size(), theirs.size()) << name;
    for (size_t i = 0; i < ours.size(); ++i) {
      EXPECT_EQ(to_csv({"", "", {ours[i]}}), to_csv({"", "", {theirs[i]}})) << name;
    }
  }
}

TEST(Pt2, VectorOperationsAreRowsToo) {
  const Table resnet = read("resnet18").table;
  EXPECT_EQ(count(resnet, "batch_norm"), 20);
  EXPECT_EQ(count(resnet, "activation"), 17);
  EXPECT_EQ(count(resnet, "add"), 8);  // not the 20 counters of batches in the norms
  EXPECT_EQ(count(resnet, "pool"), 2);
  const Row norm = find(resnet, "conv1/batch_norm");
  EXPECT_EQ(norm.weights, 64);
  EXPECT_EQ(norm.bias, 64);
  EXPECT_EQ(norm.output, (Shape{64, 112, 112}));
  EXPECT_EQ(find(resnet, "conv1/pool").output, (Shape{64, 56, 56}));
}

// By hand: 7 words, width 16, 4 heads of 4, hidden 32; the batch of 3 is no part of it, although
// attention runs with the sequence first and folds batch and heads together.
TEST(Pt2, AttentionByHand) {
  for (const std::string name : {"encoder", "encoder-core"}) {
    const Exported found = read(name);
    EXPECT_EQ(found.batch, 3);
    const auto rows = products(found.table);
    const std::string first = "layers.layers.0.";
    struct Expected {
      std::string name;
      Shape input, output;
      int64_t groups, macs;
    };
    const Expected expected[] = {
        {first + "self_attn.in_proj", {16, 1, 7}, {48, 1, 7}, 1, 7 * 16 * 48},
        {first + "self_attn.in_proj/matmul", {16, 1, 7}, {28, 1, 7}, 4, 4 * 7 * 4 * 7},
        {first + "self_attn.in_proj/matmul2", {28, 1, 7}, {16, 1, 7}, 4, 4 * 7 * 7 * 4},
        {first + "self_attn.out_proj", {16, 1, 7}, {16, 1, 7}, 1, 7 * 16 * 16},
        {first + "linear1", {16, 1, 7}, {32, 1, 7}, 1, 7 * 16 * 32},
        {first + "linear2", {32, 1, 7}, {16, 1, 7}, 1, 7 * 32 * 16}};
    ASSERT_EQ(rows.size(), 2 * 6 + 2) << name;
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(rows[i].name, expected[i].name) << name;
      EXPECT_EQ(rows[i].input, expected[i].input) << name << " " << rows[i].name;
      EXPECT_EQ(rows[i].output, expected[i].output) << name << " " << rows[i].name;
      EXPECT_EQ(rows[i].groups, expected[i].groups) << name << " " << rows[i].name;
      EXPECT_EQ(rows[i].macs, expected[i].macs) << name << " " << rows[i].name;
    }
    // One layer used twice, whose weights count once.
    EXPECT_EQ(rows[12].name, "out");
    EXPECT_EQ(rows[13].name, "out#2");
    EXPECT_EQ(total_weights(found.table), 2 * (16 * 48 + 16 * 16 + 2 * 16 * 32) + 16 * 16);
    EXPECT_EQ(found.parameters, seen(name)["parameters"]);

    EXPECT_EQ(find(found.table, "input/embedding").weights, 50 * 16);
    EXPECT_EQ(find(found.table, "input/embedding").output, (Shape{16, 1, 7}));
    EXPECT_EQ(find(found.table, first + "self_attn.in_proj/softmax").output, (Shape{28, 1, 7}));
    EXPECT_EQ(count(found.table, "layer_norm"), 4) << name;
    EXPECT_EQ(count(found.table, "add"), 4) << name;
    // No row of ours, and not forgotten.
    ASSERT_EQ(found.unknown.count("torch.ops.aten.erfinv.default"), 1u) << name;
    EXPECT_EQ(found.unknown.at("torch.ops.aten.erfinv.default"), 1);
  }
}

TEST(Pt2, PartsOfAWeightAreLayersOfTheirOwn) {
  const Exported found = read("cross");
  EXPECT_EQ(find(found.table, "attend.in_proj[0]").output, (Shape{12, 1, 5}));
  EXPECT_EQ(find(found.table, "attend.in_proj[1]").output, (Shape{24, 1, 7}));
  EXPECT_EQ(total_weights(found.table), 12 * 36 + 12 * 12);
  EXPECT_EQ(find(found.table, "attend.in_proj[1]/matmul").macs, 3 * 5 * 4 * 7);
}

TEST(Pt2, WhatElseNetworksHave) {
  const Exported found = read("odd");
  const Row wave = find(found.table, "wave");
  EXPECT_EQ(wave.input, (Shape{4, 1, 16}));
  EXPECT_EQ(wave.output, (Shape{6, 1, 8}));
  EXPECT_EQ(wave.kernel, (std::array<int64_t, 2>{1, 5}));
  EXPECT_EQ(wave.padding, (std::array<int64_t, 2>{0, 2}));
  EXPECT_EQ(wave.macs, 6 * 8 * 2 * 5);
  EXPECT_EQ(find(found.table, "dilated").macs, 2 * 8 * 8 * 9);
  EXPECT_EQ(find(found.table, "dilated").bias, 0);
  EXPECT_EQ(find(found.table, "same").padding, (std::array<int64_t, 2>{1, 0}));
  EXPECT_EQ(find(found.table, "matrix").op, "linear");
  EXPECT_EQ(find(found.table, "matrix").macs, 8 * 6 * 9);
  EXPECT_EQ(find(found.table, "wave/matmul").macs, 8 * 6 * 8);
  EXPECT_EQ(find(found.table, "wave/matmul2").macs, 8 * 8 * 8);  // a constant is no weight
  EXPECT_EQ(found.unknown.size(), 1u);
  EXPECT_EQ(found.unknown.count("torch.ops.aten.conv_transpose2d.input"), 1u);
}

TEST(Pt2, AnythingElseIsRefusedByName) {
  const testing::TempFolder folder;
  const auto refuses = [](const auto& call, const std::string& text) {
    try {
      call();
      ADD_FAILURE() << "accepted; expected: " << text;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  core::write_file(folder / "text.pt2", "no archive");
  refuses([&] { read_pt2(folder / "text.pt2"); }, "text.pt2");
  refuses([&] { read_pt2(folder / "absent.pt2"); }, "absent.pt2");
  for (const std::string text :
       {"", "[]", "{}", "{\"graph_module\": 3}",
        "{\"graph_module\": {\"graph\": {\"tensor_values\": {}, \"nodes\": [{\"target\": \"x\", "
        "\"inputs\": [{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"a\"}}}], "
        "\"outputs\": []}]}, \"signature\": {\"input_specs\": []}}}"}) {
    refuses([&] { parse_pt2(text, "m", "m.pt2"); }, "m.pt2: models/model.json");
  }
}

}  // namespace
}  // namespace adagp::layers

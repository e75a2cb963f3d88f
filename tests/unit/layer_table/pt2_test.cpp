#include "adagp/sim/layers/pt2.h"

#include <array>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
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

const Uncounted* find_uncounted(const Table& table, const std::string& name) {
  for (const Uncounted& one : table.uncounted) {
    if (one.name == name) return &one;
  }
  return nullptr;
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
    EXPECT_TRUE(found.table.uncounted.empty()) << name << " " << found.table.uncounted[0].name;
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
    const Uncounted* erfinv = find_uncounted(found.table, "erfinv");
    ASSERT_NE(erfinv, nullptr) << name;
    EXPECT_EQ(erfinv->op, "torch.ops.aten.erfinv.default");
    EXPECT_EQ(erfinv->macs, 0);
    EXPECT_EQ(missing_text(found.table), "") << name;
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
  EXPECT_EQ(find(found.table, "dilated").dilation, (std::array<int64_t, 2>{2, 2}));
  const Row up = find(found.table, "up");
  EXPECT_EQ(up.op, "conv_transpose");
  EXPECT_EQ(up.output, (Shape{1, 9, 9}));
  EXPECT_EQ(up.weights, 3 * 1 * 2 * 2);
  EXPECT_EQ(up.macs, 3 * 1 * 2 * 2 * 8 * 8);  // every input pixel meets every weight
  EXPECT_TRUE(found.table.uncounted.empty());
}

// T = 5 steps of 3 -> 4 with 4 gates: one product of the sequence, then one a step; the first of
// them with a state of zeros.
TEST(Pt2, RecurrentLayersAreAProductAStep) {
  for (const std::string name : {"lstm", "lstm-core"}) {
    const Exported found = read(name);
    EXPECT_EQ(found.batch, 2);
    EXPECT_EQ(find(found.table, "lstm.weight_ih_l0").macs, 5 * 16 * 3) << name;
    EXPECT_EQ(find(found.table, "lstm.weight_ih_l0").input, (Shape{3, 1, 5})) << name;
    EXPECT_EQ(find(found.table, "lstm.weight_hh_l0").macs, 16 * 4) << name;
    EXPECT_EQ(find(found.table, "lstm.weight_hh_l0").input, (Shape{4, 1, 1})) << name;
    EXPECT_EQ(find(found.table, "lstm.weight_hh_l0#5").macs, 16 * 4) << name;
    EXPECT_EQ(total_macs(found.table), 5 * 16 * (3 + 4)) << name;
    EXPECT_EQ(total_weights(found.table), 16 * (3 + 4)) << name;
  }
}

// Four frames of an example are slices that a picture's kernel does not join.
TEST(Pt2, SeveralImagesOfAnExampleAreItsDepth) {
  const Exported found = read("frames");
  const Row picture = find(found.table, "picture");
  EXPECT_EQ(picture.op, "conv3d");
  EXPECT_EQ(picture.depth, (Depth{4, 4, 1, 1, 0, 1}));
  EXPECT_EQ(picture.macs, 4 * 2 * 3 * 9 * 6 * 6);
  const Row film = find(found.table, "film");
  EXPECT_EQ(film.depth, (Depth{4, 2, 3, 1, 0, 1}));
  EXPECT_EQ(film.macs, 2 * 6 * 6 * 5 * 2 * 3);
}

std::string usage_error(const std::string& name, int64_t batch) {
  try {
    read_pt2(exported() / (name + ".pt2"), batch);
  } catch (const UsageError& error) {
    return error.what();
  } catch (const DataError& error) {
    return std::string("data: ") + error.what();
  }
  return "accepted";
}

TEST(Pt2, ABatchThatIsNotTheExportsIsRefused) {
  EXPECT_EQ(usage_error("frames", 2), "accepted");
  for (const int64_t other : {1, 3, 4, 7}) {
    const std::string error = usage_error("frames", other);
    EXPECT_NE(error.find("exported with a batch of 2"), std::string::npos) << other << error;
  }
  // A dynamic batch is any batch; the table is of one example in any case.
  for (const int64_t batch : {0, 1, 2, 64}) {
    const Exported found = read_pt2(exported() / "dynamic.pt2", batch);
    EXPECT_EQ(total_macs(found.table), 4 * 16 * 27 + 64 * 5) << batch;
    EXPECT_EQ(found.table.input, "3x6x6");
  }
}

TEST(Pt2, AnInputWithoutABatchIsSaidSo) {
  for (const std::string name : {"alone", "alone-core", "features"}) {
    const Exported found = read(name);
    EXPECT_EQ(found.batch, 1) << name;
    EXPECT_NE(found.note.find("no batch dimension"), std::string::npos) << name;
    EXPECT_EQ(total_macs(found.table), name == "features" ? 6 * 5 : 4 * 16 * 27) << name;
    EXPECT_EQ(found.table.input, name == "features" ? "6" : "3x6x6");
    EXPECT_EQ(usage_error(name, 1), "accepted") << name;
    EXPECT_NE(usage_error(name, 2), "accepted") << name;
  }
  // The sequence comes first: its length, 7, is no batch, and that is found out.
  const std::string error = usage_error("sequence-first", 0);
  EXPECT_NE(error.find("data: "), std::string::npos) << error;
  EXPECT_NE(error.find("7x2x8"), std::string::npos) << error;
  const Exported found = read_pt2(exported() / "sequence-first.pt2", 2);
  EXPECT_NE(found.note.find("not the first size"), std::string::npos);
  EXPECT_EQ(found.table.input, "7x8");
  EXPECT_EQ(total_macs(found.table), 7 * 8 * 24 + 2 * 2 * 7 * 4 * 7 + 7 * 8 * 8);
}

// Steps first, as torch's default has it: 2 steps of 4 sequences are not 2 examples.
TEST(Pt2, StepsOfARecurrentLayerAreNoBatch) {
  const std::string error = usage_error("steps-first", 0);
  EXPECT_NE(error.find("2x4x3"), std::string::npos) << error;
  EXPECT_EQ(total_macs(read_pt2(exported() / "steps-first.pt2", 4).table), 2 * 12 * (3 + 4));
}

TEST(Pt2, WhatHasNoRowIsNamedWithItsMacs) {
  const Table table = read("strange").table;
  // Weights times weights: once a batch, whatever its size.
  const Uncounted* merged = find_uncounted(table, "inner/matmul");
  ASSERT_NE(merged, nullptr);
  EXPECT_EQ(merged->macs, 4 * 2 * 4);
  EXPECT_NE(merged->op.find("once a batch"), std::string::npos);
  const Uncounted* unknown = find_uncounted(table, "inner/fft_fft");
  ASSERT_NE(unknown, nullptr);
  EXPECT_FALSE(unknown->macs);
  const Missing all = missing(table);
  EXPECT_EQ(all.macs, 32);
  EXPECT_EQ(all.unknown, 1);
  EXPECT_DOUBLE_EQ(all.share, 32.0 / (32 + 3 * 4 * 4));
  EXPECT_NE(missing_text(table).find("at least 40.0 %"), std::string::npos) << missing_text(table);
  const Table back = from_csv(to_csv(table), "strange");
  EXPECT_EQ(to_csv(back), to_csv(table));
  EXPECT_EQ(missing_text(back), missing_text(table));
}

// Millions of numbers that say nothing: refused, not read into memory.
TEST(Pt2, MoreValuesThanAnyNetworkHasAreRefused) {
  std::string text = R"({"graph_module": {"graph": {"nodes": [)";
  text.reserve(size_t{5} << 20);
  for (int i = 0; i < 4'200'000; ++i) text += "1,";
  try {
    parse_pt2(text + "1]}}}", "m", "m.pt2");
    FAIL() << "accepted";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("m.pt2: models/model.json: has more than"),
              std::string::npos)
        << error.what();
  }
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

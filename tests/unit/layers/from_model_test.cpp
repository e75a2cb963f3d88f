#include "adagp/engine/layers/from_model.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <torch/utils.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/engine/layers/zoo_tables.h"
#include "adagp/engine/nn/layer.h"
#include "adagp/engine/nn/ops.h"

namespace adagp::layers {
namespace {

Table table_of(const std::string& name, models::Form form, const std::string& input) {
  nn::ShapeOnlyScope shapes;
  const int64_t classes = form == models::Form::kImagenet ? 1000 : 10;
  const auto net = models::build(name, {form, classes, 1});
  return from_model(*net, name, input);
}

int64_t resident_bytes() {
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(FromModel, PublishedMultiplyAccumulates) {
  const auto imagenet = models::Form::kImagenet;
  EXPECT_NEAR(static_cast<double>(total_macs(table_of("resnet50", imagenet, "imagenet"))), 4.09e9,
              0.01 * 4.09e9);
  EXPECT_NEAR(static_cast<double>(total_macs(table_of("vgg16", imagenet, "imagenet"))), 15.47e9,
              0.01 * 15.47e9);
  EXPECT_NEAR(static_cast<double>(total_macs(table_of("densenet121", imagenet, "imagenet"))),
              2.83e9, 0.01 * 2.83e9);
  EXPECT_NEAR(static_cast<double>(total_macs(table_of("mobilenet_v2", imagenet, "imagenet"))),
              0.30e9, 0.01 * 0.30e9);
}

// A recording of a real forward pass, against the table of the shape-only one.
TEST(FromModel, RowsEqualARealForwardPass) {
  struct Shapes : nn::TapSink {
    void on_output(const nn::WeightLayer& layer, const at::Tensor& x,
                   const at::Tensor& y) override {
      names.push_back(layer.path());
      inputs.push_back(x.numel() / x.size(0));
      outputs.push_back(y.numel() / y.size(0));
      weights.push_back(layer.weight.numel());
    }
    std::vector<std::string> names;
    std::vector<int64_t> inputs, outputs, weights;
  };
  struct Case {
    std::string name, input;
    models::Options options;
    int64_t height, width;
  };
  const Case cases[] = {{"resnet8", "cifar", {models::Form::kCifar, 10, 1}, 32, 32},
                        {"vgg8s", "cifar", {models::Form::kCifar, 10, 1}, 32, 32},
                        {"vgg11", "65x80", {models::Form::kImagenet, 7, 16}, 65, 80},
                        {"resnet50", "65x80", {models::Form::kImagenet, 7, 16}, 65, 80}};
  torch::NoGradGuard no_grad;
  for (const Case& c : cases) {
    const auto net = models::build(c.name, c.options);
    Shapes real;
    {
      nn::TapScope taps(real);
      net->forward(torch::zeros({2, 3, c.height, c.width}));
    }
    const Table table = from_model(*net, c.name, c.input);
    ASSERT_EQ(table.rows.size(), real.names.size()) << c.name;
    for (size_t i = 0; i < table.rows.size(); ++i) {
      const Row& row = table.rows[i];
      EXPECT_EQ(row.name, real.names[i]);
      EXPECT_EQ(row.input_bytes, 4 * real.inputs[i]) << row.name;
      EXPECT_EQ(row.output_bytes, 4 * real.outputs[i]) << row.name;
      EXPECT_EQ(row.weights, real.weights[i]) << row.name;
    }
  }
}

TEST(FromModel, LargestNetworkTakesNoMemory) {
  table_of("resnet18", models::Form::kImagenet, "imagenet");  // first use of the libraries
  const int64_t before = resident_bytes();
  nn::ShapeOnlyScope shapes;
  const std::shared_ptr<models::Net> net = models::build("resnet152", {});
  const Table table = from_model(*net, "resnet152", "imagenet");
  EXPECT_EQ(table.rows.size(), 156u);              // 1 + 3 * (3 + 8 + 36 + 3) + 4 shortcuts + 1
  EXPECT_LT(resident_bytes() - before, 64 << 20);  // the weights alone would be 241 MB
  for (const auto& tensor : net->parameters()) ASSERT_TRUE(tensor.is_meta());
}

TEST(FromModel, LeavesARealNetworkAsItWas) {
  const auto net = models::build("resnet8", {models::Form::kCifar, 10, 1});
  std::vector<at::Tensor> before;
  for (const auto& tensor : net->buffers()) before.push_back(tensor.clone());
  from_model(*net, "resnet8", "cifar");
  for (size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(at::equal(before[i], net->buffers()[i]));
  EXPECT_EQ(nn::active_sink(), nullptr);
}

// Every network of the registry: as the table says, without its memory.
TEST(FromModel, EveryNetworkHasRowsForWhatIsPredicted) {
  nn::ShapeOnlyScope shapes;
  for (const models::Entry& entry : models::registry()) {
    const Usual how = usual(entry);
    const std::shared_ptr<models::Net> net = models::build(entry.name, how.options);
    const Table table = from_model(*net, entry.name, how.input, Operations::kAll);
    // Whatever is predicted has a row, and nothing else has weights to predict.
    int64_t predicted = 0, norms = 0, in_rows = 0, embeddings = 0;
    for (const Coverage& c : coverage(*net, "predicted")) {
      EXPECT_NE(c.kind, "other") << entry.name << " " << c.name;
      if (c.treatment == "predicted") predicted += c.parameters;
      if (c.kind == "norm") norms += c.parameters;
      if (c.kind == "embedding") embeddings += c.parameters;
    }
    int64_t frozen = 0;
    for (const Row& row : table.rows) {
      if (is_product(row) && row.frozen != 0) frozen += row.weights;
    }
    EXPECT_EQ(total_weights(table) - frozen, predicted) << entry.name;
    for (const Row& row : table.rows) {
      if (row.op == "batch_norm" || row.op == "layer_norm") in_rows += row.weights + row.bias;
      if (row.op == "embedding") embeddings -= row.weights;
    }
    EXPECT_EQ(in_rows, norms) << entry.name;
    EXPECT_EQ(embeddings, 0) << entry.name;
    EXPECT_EQ(to_csv(from_csv(to_csv(table), entry.name)), to_csv(table)) << entry.name;
  }
}

// A Transformer counted by hand: 3 + 3 layers of width 512, 8 heads, 2048 hidden.
TEST(FromModel, TransformerByHand) {
  nn::ShapeOnlyScope shapes;
  models::Options options;
  options.transformer.source_words = 100;
  options.transformer.target_words = 90;
  const auto net = models::build("transformer", options);
  const Table table = from_model(*net, "transformer", "tokens:5,7", Operations::kAll);
  const int64_t w = 512, h = 2048, s = 5, t = 7;
  const int64_t encoder = s * (4 * w * w + 2 * w * h) + 2 * s * s * w;
  const int64_t self = t * 4 * w * w + 2 * t * t * w;
  const int64_t cross = (2 * t + 2 * s) * w * w + 2 * t * s * w;
  EXPECT_EQ(total_macs(table), 3 * (encoder + self + cross + t * 2 * w * h) + t * w * 90);
  std::map<std::string, int> ops;
  for (const Row& row : table.rows) ++ops[row.op];
  EXPECT_EQ(ops["matmul"], 2 * 9);
  EXPECT_EQ(ops["softmax"], 9);
  EXPECT_EQ(ops["embedding"], 2);
  EXPECT_EQ(ops["layer_norm"], 3 * 2 + 3 * 3 + 2);
  EXPECT_EQ(ops["linear"], 3 * 4 + 3 * 7 + 1);
  const std::string cross_path = "transformer.decoder.layers.0.multihead_attn.in_proj";
  for (const Row& row : table.rows) {
    if (row.name == cross_path + "[0]") {
      EXPECT_EQ(row.output, (std::array<int64_t, 3>{w, 1, t}));
    }
    if (row.name == cross_path + "[1]") {
      EXPECT_EQ(row.output, (std::array<int64_t, 3>{2 * w, 1, s}));
    }
    if (row.name == cross_path + "[1]/matmul") {
      EXPECT_EQ(row.macs, t * s * w);
    }
  }
  EXPECT_THROW(from_model(*net, "transformer", "imagenet"), UsageError);
  EXPECT_THROW(table_of("resnet8", models::Form::kCifar, "tokens:3,4"), UsageError);
}

// A network of one's own that uses a layer twice.
TEST(FromModel, SecondUseIsASecondRow) {
  struct Twice : models::Net {
    Twice() { fc = register_module("fc", nn::Linear(4, 4)); }
    models::Tensors run(const models::Tensors& x) override {
      return {fc->forward(nn::relu_(fc->forward(nn::flatten(nn::adaptive_avg_pool2d(x[0], 1)))))};
    }
    std::vector<std::string> heads() const override { return {"fc"}; }
    nn::Linear fc{nullptr};
  };
  struct Four : Twice {
    models::Tensors run(const models::Tensors& x) override {
      return Twice::run({at::empty({1, 4, 2, 2}, x[0].options())});
    }
  };
  Four net;
  const Table table = from_model(net, "mine", "8x8", Operations::kAll);
  std::vector<std::string> names;
  for (const Row& row : table.rows) names.push_back(row.name);
  EXPECT_EQ(names, (std::vector<std::string>{"input/pool", "fc", "fc/activation", "fc#2"}));
  EXPECT_EQ(total_weights(table), 16);
  EXPECT_EQ(total_macs(table), 32);
}

TEST(FromModel, VectorOperationsOfAResidualBlock) {
  nn::ShapeOnlyScope shapes;
  const auto net = models::build("resnet18", {});
  const Table all = from_model(*net, "resnet18", "imagenet", Operations::kAll);
  std::map<std::string, int> ops;
  for (const Row& row : all.rows) ++ops[row.op];
  // As in torchvision: every convolution has a norm, every block two activations and a sum.
  EXPECT_EQ(ops["conv2d"], 20);
  EXPECT_EQ(ops["batch_norm"], 20);
  EXPECT_EQ(ops["activation"], 17);
  EXPECT_EQ(ops["add"], 8);
  EXPECT_EQ(ops["pool"], 2);
  EXPECT_EQ(to_csv(only_products(all)), to_csv(from_model(*net, "resnet18", "imagenet")));
}

TEST(BlockTable, HasTheRowsOfTheWholeNetworkInTheOrderOfItsBlocks) {
  const nn::ShapeOnlyScope shapes;
  for (const std::string name : {"resnet18", "vgg13_bn", "densenet121", "mobilenet_v2"}) {
    const auto net = models::build(name, {models::Form::kCifar, 10, 1});
    const BlockTable rows = block_table(*net, name, "cifar");
    EXPECT_EQ(rows.table.rows, from_model(*net, name, "cifar", Operations::kAll).rows) << name;
    ASSERT_EQ(rows.blocks.size(), rows.table.rows.size()) << name;
    EXPECT_TRUE(std::ranges::is_sorted(rows.blocks)) << name;
    EXPECT_GT(rows_before(rows.blocks, 1), 0) << name;
  }
}

// A row before a block's first weight layer is named after the layer before it, and is the block's.
TEST(BlockTable, ANormBeforeAConvolutionIsOfTheConvolutionsBlock) {
  const nn::ShapeOnlyScope shapes;
  const auto net = models::build("densenet121", {models::Form::kCifar, 10, 1});
  const BlockTable rows = block_table(*net, "densenet121", "cifar");
  // conv0 with its norm and activation, then denselayer1.norm1.
  EXPECT_EQ(rows_before(rows.blocks, 1), 3);
  EXPECT_EQ(rows.table.rows.at(3).name, "features.conv0/batch_norm2");
  EXPECT_EQ(rows.blocks.at(3), 1);
}

// configs/layers holds what the code says, and nothing else. 'make configs' writes it anew.
TEST(ZooTables, FilesAreUpToDate) {
  const std::filesystem::path folder = ADAGP_SOURCE_DIR "/configs/layers";
  std::set<std::string> names;
  for (const ZooTable& item : zoo_tables()) {
    names.insert(item.name + ".csv");
    const auto file = folder / (item.name + ".csv");
    ASSERT_TRUE(std::filesystem::exists(file)) << file << ": run 'make configs'";
    EXPECT_TRUE(core::read_file(file) == to_csv(item.table))
        << file << " differs from the network: run 'make configs'";
  }
  for (const auto& item : std::filesystem::directory_iterator(folder)) {
    EXPECT_TRUE(names.contains(item.path().filename())) << item.path() << ": of no network";
  }
}

TEST(FromModel, ParsesInputs) {
  EXPECT_EQ(parse_input("imagenet", 299).width, 299);
  EXPECT_EQ(parse_input("tokens:12,14").source, 12);
  EXPECT_EQ(parse_input("tokens:12,14").target, 14);
  EXPECT_FALSE(parse_input("cifar").tokens());
  EXPECT_EQ(parse_input("imagenet").height, 224);
  EXPECT_EQ(parse_input("cifar").width, 32);
  EXPECT_EQ(parse_input("48x64").height, 48);
  EXPECT_EQ(parse_input("48x64").width, 64);
  for (const std::string text : {"", "64", "0x8", "-3x8", "8x8x8", "axb", "99999999x8",
                                 "tokens:", "tokens:3", "tokens:0,3", "tokens:3x4"}) {
    EXPECT_THROW(parse_input(text), UsageError) << text;
  }
}

}  // namespace
}  // namespace adagp::layers

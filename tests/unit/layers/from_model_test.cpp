#include "adagp/layers/from_model.h"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <torch/utils.h>

#include "adagp/core/error.h"
#include "adagp/nn/layer.h"

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

TEST(FromModel, LargestNetworkIsQuickAndTakesNoMemory) {
  table_of("resnet18", models::Form::kImagenet, "imagenet");  // first use of the libraries
  const int64_t before = resident_bytes();
  const auto start = std::chrono::steady_clock::now();
  nn::ShapeOnlyScope shapes;
  const auto net = models::build("resnet152", {});
  const Table table = from_model(*net, "resnet152", "imagenet");
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(table.rows.size(), 156u);  // 1 + 3 * (3 + 8 + 36 + 3) + 4 shortcuts + 1
  EXPECT_LT(seconds.count(), 0.5);
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

TEST(FromModel, ParsesInputs) {
  EXPECT_EQ(parse_input("imagenet").height, 224);
  EXPECT_EQ(parse_input("cifar").width, 32);
  EXPECT_EQ(parse_input("48x64").height, 48);
  EXPECT_EQ(parse_input("48x64").width, 64);
  for (const std::string text : {"", "64", "0x8", "-3x8", "8x8x8", "axb", "99999999x8"}) {
    EXPECT_THROW(parse_input(text), UsageError) << text;
  }
}

TEST(Coverage, CountsEveryParameterOnce) {
  for (const std::string name : {"vgg8s", "resnet8"}) {
    const auto net = models::build(name, {models::Form::kCifar, 10, 1});
    int64_t total = 0, predicted = 0;
    std::set<std::string> names;
    for (const Coverage& row : coverage(*net, "predicted")) {
      total += row.parameters;
      names.insert(row.name);
      EXPECT_NE(row.kind, "other") << row.name;
      if (row.treatment == "predicted") predicted += row.parameters;
    }
    EXPECT_EQ(total, models::parameter_count(*net));
    EXPECT_EQ(names.size(), net->parameters().size());
    EXPECT_EQ(predicted, total_weights(from_model(*net, name, "cifar")));
  }
}

TEST(Coverage, HeadOptionMovesTheClassifier) {
  nn::ShapeOnlyScope shapes;
  const auto net = models::build("vgg8s", {models::Form::kCifar, 10, 1});
  const auto treatment = [&](const std::string& head, const std::string& name) {
    for (const Coverage& row : coverage(*net, head)) {
      if (row.name == name) return row.treatment;
    }
    return std::string("absent");
  };
  EXPECT_EQ(treatment("predicted", "classifier.weight"), "predicted");
  EXPECT_EQ(treatment("predicted", "classifier.bias"), "frozen");
  EXPECT_EQ(treatment("exact", "classifier.weight"), "exact");
  EXPECT_EQ(treatment("exact", "classifier.bias"), "exact");
  EXPECT_EQ(treatment("frozen", "classifier.weight"), "frozen");
  EXPECT_EQ(treatment("exact", "features.0.weight"), "predicted");
  EXPECT_EQ(treatment("exact", "features.1.weight"), "frozen");
  EXPECT_THROW(coverage(*net, "exakt"), UsageError);
}

}  // namespace
}  // namespace adagp::layers

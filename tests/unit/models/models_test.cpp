#include <functional>
#include <numeric>
#include <tuple>

#include <gtest/gtest.h>
#include <torch/utils.h>

#include "adagp/core/error.h"
#include "adagp/models/model.h"
#include "adagp/nn/layer.h"

namespace adagp::models {
namespace {

std::string usage_message(const std::function<void()>& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no UsageError";
}

int64_t count_of(const std::string& name, Form form, int64_t classes) {
  nn::ShapeOnlyScope shapes;
  return parameter_count(*build(name, {form, classes, 1}));
}

TEST(Models, PublishedParameterCounts) {
  EXPECT_EQ(count_of("vgg16", Form::kImagenet, 1000), 138'357'544);
  EXPECT_EQ(count_of("resnet50", Form::kImagenet, 1000), 25'557'032);
  EXPECT_EQ(count_of("resnet152", Form::kImagenet, 1000), 60'192'808);
  // The usual CIFAR-10 networks.
  EXPECT_EQ(count_of("resnet18", Form::kCifar, 10), 11'173'962);
  EXPECT_EQ(count_of("resnet50", Form::kCifar, 10), 23'520'842);
  EXPECT_EQ(count_of("vgg13_bn", Form::kCifar, 10), 9'416'010);
  EXPECT_EQ(count_of("vgg16_bn", Form::kCifar, 10), 14'728'266);
}

TEST(Models, SlimOnesAreSlim) {
  const auto vgg = build("vgg8s", {Form::kCifar, 10, 1});
  EXPECT_EQ(nn::collect(*vgg).size(), 8u);
  EXPECT_GT(parameter_count(*vgg), 200'000);
  EXPECT_LT(parameter_count(*vgg), 500'000);
  const auto resnet = build("resnet8", {Form::kCifar, 10, 1});
  EXPECT_NEAR(static_cast<double>(parameter_count(*resnet)), 80'000, 8'000);
  for (const auto& net : {vgg, resnet}) {
    EXPECT_EQ(net->forward(torch::zeros({2, 3, 32, 32})).sizes(), at::IntArrayRef({2, 10}));
  }
}

TEST(Models, HeadIsTheLayerThatMakesTheLogits) {
  nn::ShapeOnlyScope shapes;
  for (const Entry& entry : registry()) {
    for (const Form form : {Form::kImagenet, Form::kCifar}) {
      if (entry.default_form == Form::kCifar && form == Form::kImagenet) continue;
      const auto net = build(entry.name, {form, 17, 1});
      const auto layers = nn::collect(*net);
      EXPECT_EQ(layers.back()->path(), net->head()) << entry.name;
      EXPECT_EQ(layers.back()->info().out, 17);
    }
  }
}

TEST(Models, CifarFormKeepsSmallImagesLarge) {
  struct LastMap : nn::TapSink {
    void on_output(const nn::WeightLayer& layer, const at::Tensor&, const at::Tensor& y) override {
      if (layer.path() == "conv1") stem = y.size(2);
      if (y.dim() == 4) last = y.size(2);
    }
    int64_t stem = 0, last = 0;
  };
  nn::ShapeOnlyScope shapes;
  for (const auto& [form, stem, last] :
       {std::tuple{Form::kCifar, 32, 4}, {Form::kImagenet, 16, 1}}) {
    LastMap sink;
    nn::TapScope taps(sink);
    build("resnet18", {form, 10, 1})->forward(torch::zeros({1, 3, 32, 32}, at::kMeta));
    EXPECT_EQ(sink.stem, stem);
    EXPECT_EQ(sink.last, last);
  }
}

// The tap sees each layer once, in the order of collect(), with what the layer itself computed:
// neither normalised nor rectified.
TEST(Models, TapSeesRawOutputsInOrder) {
  struct Checker : nn::TapSink {
    void on_output(const nn::WeightLayer& layer, const at::Tensor& x,
                   const at::Tensor& y) override {
      order.push_back(layer.index());
      const nn::LayerInfo& c = layer.info();
      const at::Tensor again = c.kind == nn::LayerKind::kConv2d
                                   ? at::conv2d(x, layer.weight, layer.bias, c.stride, c.padding)
                                   : at::linear(x, layer.weight, layer.bias);
      EXPECT_TRUE(at::equal(again, y)) << layer.path();
      EXPECT_LT(y.min().item<double>(), 0) << layer.path();
    }
    std::vector<int64_t> order;
  };
  torch::manual_seed(4);
  for (const std::string name : {"vgg8s", "resnet8", "vgg11", "resnet50"}) {
    const bool slim = name.ends_with("8s") || name == "resnet8";
    const auto net = build(name, {Form::kCifar, 10, slim ? 1 : 8});
    Checker sink;
    {
      nn::TapScope taps(sink);
      net->forward(torch::randn({4, 3, 32, 32}));
    }
    std::vector<int64_t> expected(nn::collect(*net).size());
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(sink.order, expected) << name;
  }
}

TEST(Models, BlocksInOrderAreTheNetwork) {
  torch::manual_seed(6);
  const auto net = std::dynamic_pointer_cast<BlockNet>(build("resnet8", {Form::kCifar, 10, 1}));
  ASSERT_NE(net, nullptr);
  net->eval();
  const auto x = torch::randn({2, 3, 32, 32});
  at::Tensor y = x;
  for (const Block& block : net->blocks()) y = block.run(y);
  EXPECT_TRUE(at::equal(y, net->forward(x)));
  EXPECT_EQ(net->blocks().front().name, "conv1");
  EXPECT_EQ(net->blocks().back().name, net->head());
}

TEST(Models, ForwardLeavesItsInputAlone) {
  for (const std::string name : {"vgg8s", "resnet8"}) {
    const auto net = build(name, {Form::kCifar, 10, 1});
    const auto x = torch::randn({2, 3, 32, 32});
    const auto copy = x.clone();
    net->forward(x);
    EXPECT_TRUE(at::equal(x, copy)) << name;
  }
}

TEST(Models, VggDropsOutInTrainingOnly) {
  torch::manual_seed(8);
  const auto net = build("vgg11", {Form::kImagenet, 10, 16});
  torch::NoGradGuard no_grad;
  const auto x = torch::randn({2, 3, 64, 64});
  net->train();
  EXPECT_FALSE(at::equal(net->forward(x), net->forward(x)));
  net->eval();
  EXPECT_TRUE(at::equal(net->forward(x), net->forward(x)));
}

TEST(Models, ErrorsSayWhatToDo) {
  EXPECT_NE(usage_message([] { find("resnet51"); }).find("did you mean 'resnet5"),
            std::string::npos);
  EXPECT_NE(usage_message([] {
              build("vgg8s", {Form::kImagenet, 10, 1});
            }).find("cifar form only"),
            std::string::npos);
  EXPECT_NE(usage_message([] {
              build("vgg11", {Form::kCifar, 10, 3});
            }).find("width_divisor 3"),
            std::string::npos);
  EXPECT_NE(usage_message([] {
              build("vgg11", {Form::kCifar, 0, 1});
            }).find("0 classes"),
            std::string::npos);
  EXPECT_NE(usage_message([] { parse_form("cifra"); }).find("did you mean 'cifar'"),
            std::string::npos);

  // Five halvings of 16 pixels leave nothing: the fifth pool says so, on real and on meta tensors.
  nn::ShapeOnlyScope shapes;
  const auto net = build("vgg11", {Form::kCifar, 10, 1});
  const auto small = usage_message([&] { net->forward(torch::zeros({1, 3, 16, 16}, at::kMeta)); });
  EXPECT_NE(small.find("features.20"), std::string::npos) << small;
  EXPECT_NE(small.find("too small"), std::string::npos) << small;
  const auto grey = usage_message([&] { net->forward(torch::zeros({1, 1, 32, 32}, at::kMeta)); });
  EXPECT_NE(grey.find("features.0"), std::string::npos) << grey;
}

TEST(Models, FormFollowsTheImageSize) {
  EXPECT_EQ(form_for(find("resnet50"), 32, 32), Form::kCifar);
  EXPECT_EQ(form_for(find("resnet50"), 33, 32), Form::kImagenet);
  EXPECT_EQ(form_for(find("vgg8s"), 224, 224), Form::kCifar);
  EXPECT_EQ(parse_form(form_name(Form::kCifar)), Form::kCifar);
}

}  // namespace
}  // namespace adagp::models

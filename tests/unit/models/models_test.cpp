#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include <gtest/gtest.h>
#include <torch/utils.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/models/model.h"
#include "adagp/engine/nn/layer.h"

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

// The networks that classify images, in each form they have.
std::vector<std::pair<Entry, Form>> classifiers() {
  std::vector<std::pair<Entry, Form>> all;
  for (const Entry& entry : registry()) {
    if (entry.task != TaskKind::kClassification) continue;
    if (entry.default_form == Form::kImagenet) all.emplace_back(entry, Form::kImagenet);
    all.emplace_back(entry, Form::kCifar);
  }
  return all;
}

// A version with few channels: every width but those of the slim networks divides by 8.
Options small_copy(const Entry& entry, Form form) {
  return {form, 10, entry.default_form == Form::kCifar ? 1 : 8};
}

// The smallest square image that suits all networks in this form.
at::Tensor small_images(Form form, int64_t batch) {
  const int64_t side = form == Form::kCifar ? 32 : 75;
  return torch::randn({batch, 3, side, side});
}

TEST(Models, PublishedParameterCounts) {
  const std::pair<const char*, int64_t> published[] = {
      {"vgg16", 138'357'544},      {"resnet50", 25'557'032},     {"resnet152", 60'192'808},
      {"densenet121", 7'978'856},  {"densenet161", 28'681'000},  {"densenet201", 20'013'928},
      {"mobilenet_v2", 3'504'872}, {"inception_v3", 27'161'264}, {"inception_v4", 42'679'816},
  };
  for (const auto& [name, count] : published) {
    EXPECT_EQ(count_of(name, Form::kImagenet, 1000), count) << name;
  }
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

// Multiplications of the weight layers, from shapes. The published figures are for one image in
// evaluation mode (no auxiliary head).
TEST(Models, PublishedMultiplications) {
  struct Counter : nn::TapSink {
    void on_output(const nn::WeightLayer& layer, const at::Tensor&, const at::Tensor& y) override {
      macs += static_cast<double>(y.numel() * layer.info().cols());
    }
    double macs = 0;
  };
  const std::pair<const char*, double> published[] = {
      {"resnet50", 4.09e9},     {"vgg16", 15.47e9},       {"densenet121", 2.83e9},
      {"mobilenet_v2", 0.30e9}, {"inception_v3", 5.71e9},
  };
  nn::ShapeOnlyScope shapes;
  for (const auto& [name, macs] : published) {
    const auto net = build(name, {});
    net->eval();
    const int64_t side = find(name).image_size;
    Counter counter;
    nn::TapScope taps(counter);
    net->forward(torch::zeros({1, 3, side, side}, at::kMeta));
    EXPECT_NEAR(counter.macs, macs, 0.01 * macs) << name;
  }
}

TEST(Models, HeadsAreTheLayersThatMakeTheLogits) {
  nn::ShapeOnlyScope shapes;
  for (const auto& [entry, form] : classifiers()) {
    const auto net = build(entry.name, {form, 17, 1});
    const auto layers = nn::collect(*net);
    EXPECT_EQ(layers.back()->path(), net->heads().front()) << entry.name;
    const auto side = form == Form::kCifar ? 32 : entry.image_size;
    const Tensors outputs = net->run({torch::zeros({2, 3, side, side}, at::kMeta)});
    ASSERT_EQ(outputs.size(), net->heads().size()) << entry.name;
    for (const at::Tensor& logits : outputs) {
      EXPECT_EQ(logits.sizes(), at::IntArrayRef({2, 17})) << entry.name;
    }
    for (const std::string& head : net->heads()) {
      const auto is_head = [&head](const nn::WeightLayer* l) { return l->path() == head; };
      const auto found = std::find_if(layers.begin(), layers.end(), is_head);
      ASSERT_NE(found, layers.end()) << entry.name << " " << head;
      EXPECT_EQ((*found)->info().out, 17) << entry.name << " " << head;
    }
  }
}

TEST(Models, CifarFormKeepsSmallImagesLarge) {
  struct LastMap : nn::TapSink {
    void on_output(const nn::WeightLayer&, const at::Tensor&, const at::Tensor& y) override {
      if (stem == 0) stem = y.size(2);
      if (y.dim() == 4) last = y.size(2);
    }
    int64_t stem = 0, last = 0;
  };
  nn::ShapeOnlyScope shapes;
  const auto maps = [](const char* name, Form form) {
    LastMap sink;
    nn::TapScope taps(sink);
    build(name, {form, 10, 1})->forward(torch::zeros({1, 3, 32, 32}, at::kMeta));
    return std::pair{sink.stem, sink.last};
  };
  EXPECT_EQ(maps("resnet18", Form::kCifar), (std::pair<int64_t, int64_t>{32, 4}));
  EXPECT_EQ(maps("resnet18", Form::kImagenet), (std::pair<int64_t, int64_t>{16, 1}));
  EXPECT_EQ(maps("densenet121", Form::kCifar), (std::pair<int64_t, int64_t>{32, 4}));
  EXPECT_EQ(maps("densenet121", Form::kImagenet), (std::pair<int64_t, int64_t>{16, 1}));
  EXPECT_EQ(maps("mobilenet_v2", Form::kCifar), (std::pair<int64_t, int64_t>{32, 4}));
  EXPECT_EQ(maps("mobilenet_v2", Form::kImagenet), (std::pair<int64_t, int64_t>{16, 1}));
  // (32 - 3) / 2 + 1 = 15, (15 - 3) / 2 + 1 = 7: the reductions of the Inceptions have no padding.
  EXPECT_EQ(maps("inception_v3", Form::kCifar), (std::pair<int64_t, int64_t>{32, 7}));
  EXPECT_EQ(maps("inception_v4", Form::kCifar), (std::pair<int64_t, int64_t>{32, 7}));
}

// The tap sees each layer once, in the order of collect(), with what the layer itself computed:
// neither normalised nor rectified.
TEST(Models, TapSeesRawOutputsInOrder) {
  struct Checker : nn::TapSink {
    void on_output(const nn::WeightLayer& layer, const at::Tensor& x,
                   const at::Tensor& y) override {
      order.push_back(layer.index());
      const nn::LayerInfo& c = layer.info();
      const at::Tensor again =
          c.kind == nn::LayerKind::kConv2d
              ? at::conv2d(x, layer.weight, layer.bias, c.stride, c.padding, c.dilation, c.groups)
              : at::linear(x, layer.weight, layer.bias);
      EXPECT_TRUE(at::equal(again, y)) << layer.path();
      EXPECT_LT(y.min().item<double>(), 0) << layer.path();
    }
    std::vector<int64_t> order;
  };
  torch::manual_seed(4);
  for (const std::string name : {"vgg8s", "resnet8", "vgg11", "resnet50", "densenet121",
                                 "mobilenet_v2", "inception_v3", "inception_v4"}) {
    const auto net = build(name, small_copy(find(name), Form::kCifar));
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

// A pipeline may cut between any two blocks and keep what crosses the cut for later: running them
// one by one is running the network, and no block overwrites what it was given.
TEST(Models, BlocksInOrderAreTheNetwork) {
  torch::NoGradGuard no_grad;
  for (const auto& [entry, form] : classifiers()) {
    torch::manual_seed(6);
    const auto net =
        std::dynamic_pointer_cast<BlockNet>(build(entry.name, small_copy(entry, form)));
    ASSERT_NE(net, nullptr) << entry.name;
    net->eval();
    Tensors y{small_images(form, 2)};
    const Tensors expected = net->run(y);
    for (const Block& block : net->blocks()) {
      Tensors copies;
      for (const at::Tensor& x : y) copies.push_back(x.clone());
      Tensors next = block.run(y);
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_TRUE(at::equal(y[i], copies[i])) << entry.name << " " << block.name;
      }
      y = std::move(next);
    }
    ASSERT_EQ(y.size(), expected.size());
    EXPECT_TRUE(at::equal(y[0], expected[0])) << entry.name;
    EXPECT_EQ(expected[0].sizes(), at::IntArrayRef({2, 10})) << entry.name;
    EXPECT_TRUE(expected[0].isfinite().all().item<bool>()) << entry.name;
    EXPECT_EQ(net->blocks().back().name, net->heads().front());
  }
}

// The auxiliary logits cross every cut behind their head.
TEST(Models, AuxiliaryLogitsTravelToTheEnd) {
  const auto build_it = [](Form form) { return build("inception_v3", {form, 10, 16}); };
  torch::NoGradGuard no_grad;
  const auto x = torch::randn({2, 3, 299, 299});
  const auto net = build_it(Form::kImagenet);
  net->train();
  EXPECT_EQ(net->run({x}).size(), 2u);
  net->eval();
  EXPECT_EQ(net->run({x}).size(), 1u);
  EXPECT_EQ(build_it(Form::kCifar)->run({torch::randn({2, 3, 32, 32})}).size(), 1u);
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
              build("inception_v3", {Form::kCifar, 10, 32});
            }).find("width_divisor 32"),
            std::string::npos);
  EXPECT_NE(usage_message([] {
              build("vgg11", {Form::kCifar, 0, 1});
            }).find("0 classes"),
            std::string::npos);
  EXPECT_NE(usage_message([] { parse_form("cifra"); }).find("did you mean 'cifar'"),
            std::string::npos);

  // Five halvings of 16 pixels leave nothing: the fifth pool says so, on real and on meta tensors.
  nn::ShapeOnlyScope shapes;
  const auto large = build("vgg11", {Form::kImagenet, 10, 1});
  const auto small = usage_message([&] {
    large->forward(torch::zeros({1, 3, 16, 16}, at::kMeta));
  });
  // In the form for small images a map of one pixel passes.
  const auto net = build("vgg11", {Form::kCifar, 10, 1});
  EXPECT_EQ(net->forward(torch::zeros({1, 3, 16, 16}, at::kMeta)).size(1), 10);
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

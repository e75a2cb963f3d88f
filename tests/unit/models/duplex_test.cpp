// Does a duplex network train its branch, with the gradients of kept activations and none of their
// memory, and leave its backbone alone?

#include <gtest/gtest.h>
#include <torch/nn/functional/loss.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/models/model.h"
#include "adagp/engine/nn/layer.h"
#include "adagp/engine/nn/reversible.h"
#include "unit/models/step_memory.h"

namespace adagp::models {
namespace {

Options duplex_options(int64_t blocks) {
  Options options{Form::kCifar, 10, 1};
  options.duplex = {"resnet8", blocks, 16, 4};
  return options;
}

using Tensormap = std::map<std::string, at::Tensor>;

Tensormap duplex_pass(bool keep) {
  torch::manual_seed(1);
  const auto net = build("duplex", duplex_options(5));
  net->to(at::kDouble);
  net->train();
  const at::Tensor images = torch::randn({4, 3, 16, 16}, at::kDouble);
  std::optional<nn::KeepActivations> kept;
  if (keep) kept.emplace();
  const at::Tensor logits = net->forward(images);
  torch::nn::functional::cross_entropy(logits, torch::tensor({1, 7, 3, 3})).backward();
  Tensormap out{{"logits", logits.detach()}};
  for (const auto& item : net->named_parameters()) out[item.key()] = item.value().grad();
  return out;
}

TEST(Duplex, HasTheGradientsOfKeptActivations) {
  const Tensormap got = duplex_pass(false), expected = duplex_pass(true);
  ASSERT_EQ(got.size(), expected.size());
  int trained = 0;
  for (const auto& [name, value] : expected) {
    const bool backbone = name.starts_with("backbone.");
    ASSERT_EQ(got.at(name).defined(), !backbone) << name;
    ASSERT_EQ(value.defined(), !backbone) << name;
    if (backbone) continue;
    ++trained;
    EXPECT_GT(value.abs().max().item<double>(), 0) << name;
    EXPECT_LT((got.at(name) - value).abs().max().item<double>(), 1e-9) << name;
  }
  EXPECT_EQ(trained, 1 + 1 + 5 * 5 + 2);  // logits, stem, two pairs and a feed each, fc
}

// By finite differences, which know nothing of any graph.
TEST(Duplex, HasTheGradientsOfFiniteDifferences) {
  torch::manual_seed(3);
  const auto net = build("duplex", duplex_options(3));
  net->to(at::kDouble);
  net->train();
  const at::Tensor images = torch::randn({2, 3, 16, 16}, at::kDouble);
  const auto loss = [&] { return net->forward(images).square().sum(); };
  loss().backward();
  const at::NoGradGuard no_grad;
  for (const char* name : {"stem.weight", "branch.0.f1.feed.weight", "branch.1.f1.conv1.weight",
                           "branch.2.f2.conv2.weight", "fc.weight"}) {
    at::Tensor weight = net->named_parameters()[name];
    const at::Tensor gradient = weight.grad().flatten();
    const auto place = gradient.abs().argmax().item<int64_t>();
    at::Tensor one = weight.view(-1)[place];
    constexpr double kStep = 1e-6;
    one.add_(kStep);
    const double above = loss().item<double>();
    one.sub_(2 * kStep);
    const double below = loss().item<double>();
    one.add_(kStep);
    const double expected = (above - below) / (2 * kStep);
    EXPECT_NEAR(gradient[place].item<double>() / expected, 1, 1e-5) << name;
  }
}

TEST(Duplex, TheBackboneNeverMovesItsStatistics) {
  torch::manual_seed(4);
  const auto net = build("duplex", duplex_options(2));
  net->train();
  EXPECT_FALSE(net->named_children()["backbone"]->is_training());
  EXPECT_TRUE(net->named_children()["branch"]->is_training());
  Tensormap before;
  for (const auto& item : net->named_buffers()) before[item.key()] = item.value().clone();
  net->forward(torch::randn({4, 3, 16, 16})).sum().backward();
  ASSERT_FALSE(before.empty());
  for (const auto& item : net->named_buffers()) {
    EXPECT_TRUE(at::equal(item.value(), before.at(item.key()))) << item.key();
  }
}

// The network of the zoo of the same seed and the backbone see the same.
TEST(Duplex, TheBackboneIsTheNetworkOfTheZoo) {
  torch::manual_seed(5);
  const auto alone = build("resnet8", {Form::kCifar, 10, 1});
  torch::manual_seed(5);
  const auto net = build("duplex", duplex_options(2));
  const auto own = net->named_parameters();
  int64_t shared = 0;
  for (const auto& item : alone->named_parameters()) {
    const auto* found = own.find("backbone." + item.key());
    ASSERT_EQ(found == nullptr, item.key().starts_with("fc.")) << item.key();
    if (found == nullptr) continue;
    EXPECT_TRUE(at::equal(*found, item.value())) << item.key();
    EXPECT_FALSE(found->requires_grad());
    ++shared;
  }
  EXPECT_GT(shared, 10);
}

int64_t duplex_activations(int64_t blocks, bool keep) {
  torch::manual_seed(2);
  Options options = duplex_options(blocks);
  options.duplex.side = 8;
  const auto net = build("duplex", options);
  return activation_bytes(*net, torch::randn({32, 3, 16, 16}), keep);
}

TEST(Duplex, MoreBlocksNeedNoMoreMemory) {
  // More blocks than the backbone has maps: all maps are fed from here on.
  const int64_t shorter = duplex_activations(6, false), longer = duplex_activations(24, false);
  EXPECT_LT(static_cast<double>(longer), 1.02 * static_cast<double>(shorter));
  EXPECT_GT(duplex_activations(24, true), 2 * longer);  // else nothing was saved
}

TEST(Duplex, TakesEveryClassifierThatIsMadeOfBlocks) {
  const nn::ShapeOnlyScope shapes;
  for (const char* name : {"vgg8s", "vgg13", "resnet50", "revnet18s", "densenet121", "mobilenet_v2",
                           "inception_v3", "inception_v4"}) {
    Options options{Form::kCifar, 10, 1};
    options.duplex.backbone = name;
    const auto net = build("duplex", options);
    net->train();
    const at::Tensor images = at::empty({2, 3, 32, 32}, at::device(at::kMeta));
    const at::NoGradGuard no_grad;
    EXPECT_EQ(net->forward(images).sizes(), (std::vector<int64_t>{2, 10})) << name;
    for (const auto* layer : nn::collect(*net)) {
      EXPECT_EQ(layer->frozen(), layer->path().starts_with("backbone.")) << layer->path();
    }
  }
}

// In training Inception-V3 has an auxiliary head, which a backbone never computes.
TEST(Duplex, ABackboneIsNeverInTraining) {
  const nn::ShapeOnlyScope shapes;
  Options options{Form::kImagenet, 10, 1};
  options.duplex.backbone = "inception_v3";
  const auto net = build("duplex", options);
  const at::Tensor images = at::empty({2, 3, 299, 299}, at::device(at::kMeta));
  const at::NoGradGuard no_grad;
  for (const bool training : {true, false}) {
    net->train(training);
    EXPECT_EQ(net->forward(images).sizes(), (std::vector<int64_t>{2, 10})) << training;
  }
}

TEST(Duplex, RefusesWhatCannotBe) {
  const auto refused = [](const std::function<void(Options&)>& change) {
    Options options = duplex_options(2);
    change(options);
    try {
      build("duplex", options);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto backbone = [&](const char* name) {
    return refused([&](Options& o) { o.duplex.backbone = name; });
  };
  EXPECT_NE(backbone("duplex").find("other than duplex"), std::string::npos);
  EXPECT_NE(backbone("transformer").find("expected a classifier"), std::string::npos);
  EXPECT_NE(backbone("yolov3").find("expected a classifier"), std::string::npos);
  EXPECT_NE(backbone("resnet9").find("resnet8"), std::string::npos);
  EXPECT_NE(refused([](Options& o) { o.duplex.width = 15; }).find("halved"), std::string::npos);
  EXPECT_NE(refused([](Options& o) { o.duplex.blocks = 0; }).find("at least 1"), std::string::npos);
  // A backbone that exists for small images only.
  EXPECT_NE(refused([](Options& o) { o.form = Form::kImagenet; }).find("cifar form only"),
            std::string::npos);
}

}  // namespace
}  // namespace adagp::models

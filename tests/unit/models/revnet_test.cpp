// Is a RevNet the same network whether it keeps its activations or not?

#include <gtest/gtest.h>
#include <torch/nn/functional/loss.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/models/model.h"
#include "adagp/engine/nn/layer.h"
#include "adagp/engine/nn/reversible.h"
#include "unit/models/step_memory.h"

namespace adagp::models {
namespace {

using State = std::map<std::string, at::Tensor>;

State after_a_pass(bool keep) {
  torch::manual_seed(1);
  const auto net = build("revnet18s", {Form::kCifar, 10, 1});
  net->to(at::kDouble);
  net->train();
  const at::Tensor images = torch::randn({4, 3, 16, 16}, at::kDouble);
  std::optional<nn::KeepActivations> kept;
  if (keep) kept.emplace();
  const at::Tensor logits = net->forward(images);
  torch::nn::functional::cross_entropy(logits, torch::tensor({1, 7, 3, 3})).backward();
  State out{{"logits", logits.detach()}};
  for (const auto& item : net->named_parameters()) out[item.key()] = item.value().grad();
  for (const auto& item : net->named_buffers()) out[item.key()] = item.value().to(at::kDouble);
  return out;
}

TEST(RevNet, IsTheSameWithAndWithoutItsActivations) {
  const State got = after_a_pass(false), expected = after_a_pass(true);
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(got.at(name).defined()) << name;
    EXPECT_LT((got.at(name) - value).abs().max().item<double>(), 1e-9) << name;
  }
}

TEST(RevNet, Revnet44HasTheSizeOfResNet18) {
  const nn::ShapeOnlyScope shapes;
  const auto count = [](const char* name) {
    return static_cast<double>(parameter_count(*build(name, {Form::kCifar, 10, 1})));
  };
  EXPECT_NEAR(count("revnet44") / count("resnet18"), 1, 0.03);
  // As many convolutions on the way from the images to the classes as the names say, the linear
  // layer and no shortcuts counted: two in each of two functions of a block.
  for (const auto& [name, depth] :
       {std::pair{"revnet44", 44}, {"revnet108", 108}, {"revnet18s", 18}}) {
    int64_t layers = 0;
    const auto net = build(name, {Form::kCifar, 10, 1});
    for (const auto* layer : nn::collect(*net)) {
      layers += layer->path().ends_with("shortcut") ? 0 : 1;
    }
    EXPECT_EQ(layers, depth) << name;
  }
}

int64_t activations_of(const char* name, bool keep) {
  torch::manual_seed(2);
  const auto net = build(name, {Form::kCifar, 10, 8});
  return activation_bytes(*net, torch::randn({8, 3, 32, 32}), keep);
}

TEST(RevNet, MoreBlocksNeedNoMoreMemory) {
  const int64_t shorter = activations_of("revnet44", false);
  const int64_t longer = activations_of("revnet108", false);
  EXPECT_LT(static_cast<double>(longer), 1.02 * static_cast<double>(shorter));
  EXPECT_GT(activations_of("revnet108", true), 2 * longer);  // else nothing was saved
}

TEST(RevNet, TheOptionKeepsTheActivations) {
  const at::Tensor images = torch::randn({8, 3, 32, 32});
  for (const char* name : {"revnet44", "duplex"}) {
    Options options{Form::kCifar, 10, 8};
    options.duplex.blocks = 24;
    torch::manual_seed(2);
    const auto again = build(name, options);
    options.reversible = false;
    const auto kept = build(name, options);
    EXPECT_EQ(activation_bytes(*kept, images, false), activation_bytes(*again, images, true));
    EXPECT_GT(activation_bytes(*kept, images, false), activation_bytes(*again, images, false));
    for (const Block& block : static_cast<BlockNet&>(*kept).blocks()) {
      EXPECT_FALSE(block.runs_twice) << name << " " << block.name;
    }
  }
}

TEST(RevNet, NeedsChannelsThatCanBeHalved) {
  EXPECT_THROW(build("revnet18s", {Form::kCifar, 10, 16}), UsageError);
}

}  // namespace
}  // namespace adagp::models

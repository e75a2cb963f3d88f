// Are inputs and gradients of reversible blocks those of blocks that keep everything, and is
// nothing kept?

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/nn/conv_norm.h"
#include "adagp/engine/nn/layer.h"
#include "adagp/engine/nn/reversible.h"
#include "adagp/engine/nn/tap.h"
#include "unit/peak_memory.h"

namespace adagp::nn {
namespace {

// Blocks of a convolution and a norm for each function.
struct Stack {
  Stack(int64_t depth, int64_t channels, at::ScalarType type) {
    auto list = std::make_shared<std::vector<ReversibleBlock>>();
    for (int64_t i = 0; i < depth; ++i)
      list->push_back({unit(channels, type), unit(channels, type)});
    blocks = list;
  }
  std::function<at::Tensor(const at::Tensor&)> unit(int64_t channels, at::ScalarType type) {
    Conv2d layer(conv(channels, channels, 3, 1, 1, false));
    BatchNorm2d norm(channels);
    layer->to(type);
    norm->to(type);
    convs.push_back(layer);
    norms.push_back(norm);
    return
        [layer, norm](const at::Tensor& x) mutable { return layer->forward(norm_relu(*norm, x)); };
  }
  std::vector<Conv2d> convs;
  std::vector<BatchNorm2d> norms;
  ReversibleBlocks blocks;
};

Halves made_up(int64_t channels, int64_t side, at::ScalarType type) {
  return {at::randn({2, channels, side, side}, type), at::randn({2, channels, side, side}, type)};
}

double largest_error(const Halves& got, const Halves& expected) {
  const auto error = [](const at::Tensor& a, const at::Tensor& b) {
    return (a - b).abs().max().item<double>();
  };
  return std::max(error(got.first, expected.first), error(got.second, expected.second));
}

TEST(Reversible, InputsFollowFromOutputs) {
  const at::NoGradGuard no_grad;
  for (const int64_t depth : {1, 10, 50}) {
    for (const auto type : {at::kDouble, at::kFloat}) {
      at::manual_seed(1);
      const Stack stack(depth, 4, type);
      const Halves x = made_up(4, 6, type);
      const Halves y = reversible(stack.blocks, x);
      EXPECT_GT(largest_error(y, x), 0.1);
      const double error = largest_error(inverse(*stack.blocks, y), x);
      RecordProperty(std::string(c10::toString(type)) + std::to_string(depth),
                     std::to_string(error));
      EXPECT_LT(error, type == at::kDouble ? 1e-10 : 1e-3) << depth;
    }
  }
}

struct Gradients {
  Halves x;
  std::vector<at::Tensor> weights, statistics;
};

Gradients gradients_of(const Stack& stack, const Halves& x, bool keep) {
  std::optional<KeepActivations> kept;
  if (keep) kept.emplace();
  const Halves in{x.first.clone().requires_grad_(), x.second.clone().requires_grad_()};
  const Halves y = reversible(stack.blocks, in);
  (y.first.sin().sum() + y.second.square().sum()).backward();
  Gradients out{{in.first.grad(), in.second.grad()}, {}, {}};
  for (const auto& layer : stack.convs) out.weights.push_back(layer->weight.grad());
  for (const auto& norm : stack.norms) {
    out.weights.push_back(norm->weight.grad());
    out.statistics.push_back(norm->running_var.clone());
  }
  return out;
}

TEST(Reversible, GradientsAreThoseOfKeptActivations) {
  at::manual_seed(2);
  const Stack stack(12, 4, at::kDouble);
  at::manual_seed(2);
  const Stack same(12, 4, at::kDouble);
  const Halves x = made_up(4, 6, at::kDouble);
  const Gradients got = gradients_of(stack, x, false), expected = gradients_of(same, x, true);
  EXPECT_LT(largest_error(got.x, expected.x), 1e-9);
  ASSERT_EQ(got.weights.size(), 48U);
  for (size_t i = 0; i < got.weights.size(); ++i) {
    EXPECT_GT(expected.weights[i].abs().max().item<double>(), 1e-6);
    EXPECT_LT((got.weights[i] - expected.weights[i]).abs().max().item<double>(), 1e-9) << i;
  }
  // Norms count the batch once, though they see it twice.
  for (size_t i = 0; i < got.statistics.size(); ++i) {
    EXPECT_LT((got.statistics[i] - expected.statistics[i]).abs().max().item<double>(), 1e-12);
  }
}

TEST(Reversible, WeightsBehindFrozenLayersAreTrained) {
  const Stack stack(2, 4, at::kDouble);
  const Halves y = reversible(stack.blocks, made_up(4, 6, at::kDouble));
  y.first.sum().backward();
  EXPECT_TRUE(stack.convs.front()->weight.grad().defined());
}

struct CountingSink : TapSink {
  int outputs = 0;
  void on_output(const WeightLayer&, const at::Tensor&, const at::Tensor&) override { ++outputs; }
};

TEST(Reversible, TapsSeeEachLayerOnce) {
  const Stack stack(3, 4, at::kDouble);
  CountingSink sink;
  const TapScope scope(sink);
  const Halves x = made_up(4, 6, at::kDouble);
  reversible(stack.blocks, {x.first.requires_grad_(), x.second}).first.sum().backward();
  EXPECT_EQ(sink.outputs, 6);
}

int64_t peak_of_step(int64_t depth, bool keep) {
  at::manual_seed(3);
  const Stack stack(depth, 2, at::kFloat);
  const Halves x = made_up(2, 64, at::kFloat);
  return adagp::testing::peak_bytes([&] { gradients_of(stack, x, keep); });
}

TEST(Reversible, MemoryDoesNotGrowWithDepth) {
  const int64_t map = 2 * 2 * 64 * 64 * 4;  // bytes of one half
  const int64_t short_stack = peak_of_step(4, false), long_stack = peak_of_step(40, false);
  // The weights and their gradients do: a fraction of a map for each layer here.
  EXPECT_LT(long_stack - short_stack, 2 * map);
  EXPECT_GT(peak_of_step(40, true) - peak_of_step(4, true), 36 * 2 * map);  // what else is kept
}

}  // namespace
}  // namespace adagp::nn

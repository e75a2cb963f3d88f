// Weight gradients on a stream beside the backward pass are those of one stream, bit for bit. Whole
// networks: the Replayed tests of graph_test.cpp, whose eager steps have one stream.

#include "adagp/engine/nn/side_gradients.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/nn/layer.h"
#include "adagp/gpu/device/graph.h"
#include "gpu/train/world.h"

namespace adagp {
namespace {

using test::GpuTest;

constexpr int64_t kChannels = 64;

at::Tensor some_map(int64_t size) {
  return at::randn({32, kChannels, size, size}, at::TensorOptions(at::kCUDA))
      .to(at::kBFloat16)
      .contiguous(at::MemoryFormat::ChannelsLast);
}

// Convolutions of every kind that goes beside, each of them used twice.
struct Stack {
  std::vector<nn::Conv2d> layers;

  Stack() {
    for (const auto& options :
         {nn::conv(kChannels, kChannels, 3, 1, 1, false), nn::conv(kChannels, kChannels, 1),
          nn::conv(kChannels, kChannels, 3, 1, 1, false, kChannels)}) {
      nn::Conv2d layer(options);
      layer->to(at::kCUDA);
      layer->own_kernels = true;
      layer->weight.set_data(layer->weight.contiguous(at::MemoryFormat::ChannelsLast));
      layer->make_bf16_copies();
      layers.push_back(layer);
    }
  }

  at::Tensor forward(at::Tensor x) {
    for (int pass = 0; pass < 2; ++pass) {
      for (nn::Conv2d& layer : layers) x = at::relu(layer->forward(x));
      x = at::relu(layers[1]->shared_product(x)) + x;
    }
    return x;
  }

  std::vector<at::Tensor> leaves() {
    std::vector<at::Tensor> out;
    for (nn::Conv2d& layer : layers) {
      out.push_back(layer->used_weight());
      if (layer->used_bias().defined()) out.push_back(layer->used_bias());
    }
    return out;
  }

  void clear() {
    for (const at::Tensor& leaf : leaves()) leaf.mutable_grad().reset();
  }
};

// Of the input, then of the leaves.
std::vector<at::Tensor> copies(const at::Tensor& input, Stack& stack) {
  std::vector<at::Tensor> out{input.grad().clone()};
  for (const at::Tensor& leaf : stack.leaves()) out.push_back(leaf.grad().clone());
  return out;
}

void expect_gradients_beside_equal(int64_t size) {
  at::manual_seed(61);
  at::globalContext().setDeterministicCuDNN(true);
  const at::Device device(at::kCUDA, 0);
  device::use_own_stream(device);
  Stack stack;
  at::Tensor input = some_map(size).requires_grad_();
  const at::Tensor dy = some_map(size);
  stack.forward(input).backward(dy);
  const auto expected = copies(input, stack);

  stack.clear();
  input.mutable_grad().reset();
  device::Graph graph;
  graph.capture(device, [&] {
    const auto beside = std::make_shared<nn::SideGradients>(device);
    at::Tensor y;
    {
      const nn::QueueScope scope(beside);
      EXPECT_TRUE(beside->takes(input, stack.layers[0]->used_weight()));
      EXPECT_FALSE(beside->takes(input, stack.layers[0]->weight)) << "fp32";
      y = stack.forward(input);
    }
    y.backward(dy);
    beside->join();
  });
  for (int replay = 0; replay < 3; ++replay) {
    graph.replay();
    const auto found = copies(input, stack);
    for (size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(at::equal(found[i], expected[i])) << i;
  }
  at::globalContext().setDeterministicCuDNN(false);
}

TEST_F(GpuTest, GradientsBesideTheBackwardPassAreTheSame) {
  expect_gradients_beside_equal(16);
}

// 128 MiB each: more than may be kept for the other stream, so that the pass waits for it.
TEST_F(GpuTest, GradientsOfLargeMapsBesideTheBackwardPassAreTheSame) {
  expect_gradients_beside_equal(181);
}

TEST_F(GpuTest, StepsThatAreNotRecordedHaveOneStream) {
  const at::Device device(at::kCUDA, 0);
  const Stack stack;
  const at::Tensor x = some_map(4).requires_grad_();
  EXPECT_FALSE(nn::SideGradients(device).takes(x, stack.layers[0]->bf16_weight));
}

}  // namespace
}  // namespace adagp

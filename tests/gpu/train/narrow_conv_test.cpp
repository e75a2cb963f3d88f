// Our kernels of DenseNet's 3x3 convolutions as tensors see them and inside a whole DenseNet, on a
// GPU.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/nn/narrow_conv.h"
#include "adagp/gpu/device/graph.h"
#include "gpu/train/world.h"

namespace adagp {
namespace {

using test::GpuTest;

struct NarrowConvInputs {
  at::Tensor x, weight, dy;
};
NarrowConvInputs narrow_conv_inputs(int64_t batch, int64_t height, int64_t width) {
  const auto random = [](at::IntArrayRef shape) {
    return at::randn(shape, at::TensorOptions(at::kCUDA))
        .to(at::kBFloat16)
        .contiguous(at::MemoryFormat::ChannelsLast);
  };
  return {random({batch, 128, height, width}), random({32, 128, 3, 3}),
          random({batch, 32, height, width})};
}

TEST_F(GpuTest, NarrowConvKernelsAreAtensConvolutionInFp64) {
  at::manual_seed(95);
  for (const auto& [batch, height, width] : {std::tuple(256, 8, 8), std::tuple(37, 32, 32),
                                             std::tuple(9, 28, 56), std::tuple(2, 7, 200)}) {
    const auto in = narrow_conv_inputs(batch, height, width);
    const auto wide = [](const at::Tensor& t) { return t.to(at::kDouble); };
    const at::Tensor x = wide(in.x), weight = wide(in.weight);
    const at::Tensor dweight = std::get<1>(
        at::convolution_backward(wide(in.dy), x, weight, at::OptionalIntArrayRef(), {1, 1}, {1, 1},
                                 {1, 1}, false, {0, 0}, 1, {false, true, false}));
    // Sums in fp32; a bf16 result is rounded once: up to 2^-9 of each element.
    EXPECT_LE(test::distance(nn::narrow_conv_forward(in.x, in.weight),
                             at::conv2d(x, weight, {}, {1, 1}, {1, 1})),
              1.0 / 512)
        << width;
    EXPECT_LE(test::distance(nn::narrow_conv_weight_gradient(in.dy, in.x, in.weight), dweight),
              1.0 / 512)
        << width;
  }
}

TEST_F(GpuTest, ReplayedNarrowConvKernelsHaveTheBitsOfEager) {
  at::manual_seed(96);
  const at::Device device(at::kCUDA, 0);
  device::use_own_stream(device);
  auto in = narrow_conv_inputs(64, 16, 16);
  at::Tensor y, dweight;
  const auto work = [&] {
    y = nn::narrow_conv_forward(in.x, in.weight);
    dweight = nn::narrow_conv_weight_gradient(in.dy, in.x, in.weight);
  };
  work();
  device::Graph graph;
  graph.capture(device, work);
  // Other numbers than when it was recorded.
  in.x.mul_(0.5);
  in.dy.add_(1);
  graph.replay();
  device::synchronise(device);
  EXPECT_TRUE(at::equal(y, nn::narrow_conv_forward(in.x, in.weight)));
  EXPECT_TRUE(at::equal(dweight, nn::narrow_conv_weight_gradient(in.dy, in.x, in.weight)));
}

// Gradients of the layers of densenet121.
std::vector<at::Tensor> densenet_gradients(const std::string& precision, bool own) {
  config::RunConfig config = test::world(precision);
  config.model.name = "densenet121";
  config.model.width_divisor = 1;
  config.own_kernels = own;
  step::Session s = test::session(config);
  const auto batch = test::batch(config);
  at::manual_seed(97);
  step::backprop(s, batch);
  std::vector<at::Tensor> out;
  int64_t narrow = 0;
  for (const nn::WeightLayer* layer : s.layers) {
    EXPECT_EQ(layer->own_kernels, own);
    const auto& weight = layer->used_weight();
    if (weight.dim() == 4 && weight.size(2) == 3 && weight.size(1) == 128) {
      EXPECT_EQ(weight.grad().strides(), weight.strides());
      ++narrow;
    }
    out.push_back(weight.grad().to(at::kDouble));
  }
  EXPECT_EQ(narrow, 58) << "layers that the kernels are for";
  return out;
}

// As in image_conv_test.cpp: two bf16 networks differ, so both are held against fp32.
TEST_F(GpuTest, DenseNetsGradientsAreAsGoodWithOurNarrowConvolutions) {
  const auto exact = densenet_gradients("fp32", false);
  const auto own = densenet_gradients("bf16", true), theirs = densenet_gradients("bf16", false);
  ASSERT_EQ(own.size(), exact.size());
  ASSERT_EQ(own.size(), theirs.size());
  double own_sum = 0, their_sum = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    own_sum += test::distance(own[i], exact[i]);
    their_sum += test::distance(theirs[i], exact[i]);
  }
  EXPECT_LE(own_sum, 1.2 * their_sum);
  const auto again = densenet_gradients("bf16", true);
  for (size_t i = 0; i < own.size(); ++i) EXPECT_TRUE(at::equal(own[i], again[i])) << i;
}

}  // namespace
}  // namespace adagp

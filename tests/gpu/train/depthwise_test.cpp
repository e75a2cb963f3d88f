// Our depthwise kernels inside layers and a whole MobileNet, on a GPU.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/nn/depthwise.h"
#include "adagp/gpu/device/graph.h"
#include "gpu/train/world.h"

namespace adagp {
namespace {

using test::GpuTest;

struct DepthwiseProducts {
  at::Tensor y, dx, dweight;
};

DepthwiseProducts by_own_kernels(const at::Tensor& x, const at::Tensor& weight,
                                 const at::Tensor& dy, int64_t stride) {
  return {nn::depthwise_forward(x, weight, stride),
          nn::depthwise_input_gradient(dy, weight, x, stride),
          nn::depthwise_weight_gradient(dy, x, weight, stride)};
}

DepthwiseProducts by_aten(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& dy,
                          int64_t stride) {
  const int64_t groups = weight.size(0);
  const auto [dx, dweight, dbias] =
      at::convolution_backward(dy, x, weight, at::OptionalIntArrayRef(), {stride, stride}, {1, 1},
                               {1, 1}, false, {0, 0}, groups, {true, true, false});
  return {at::conv2d(x, weight, {}, {stride, stride}, {1, 1}, {1, 1}, groups), dx, dweight};
}

struct DepthwiseInputs {
  at::Tensor x, weight, dy;
};
DepthwiseInputs depthwise_inputs(int64_t batch, int64_t side, int64_t channels, int64_t stride,
                                 at::ScalarType type) {
  const auto options = at::TensorOptions(at::kCUDA).dtype(type);
  const int64_t out = (side - 1) / stride + 1;
  return {
      at::randn({batch, channels, side, side}, options).contiguous(at::MemoryFormat::ChannelsLast),
      at::randn({channels, 1, 3, 3}, options),
      at::randn({batch, channels, out, out}, options).contiguous(at::MemoryFormat::ChannelsLast)};
}

void expect_within(const at::Tensor& got, const at::Tensor& expected, double tolerance,
                   const char* what) {
  const double error = (got.to(at::kDouble) - expected).norm().item<double>();
  EXPECT_LE(error, tolerance * expected.norm().item<double>()) << what;
}

TEST_F(GpuTest, DepthwiseKernelsAreAtensConvolutionInFp64) {
  at::manual_seed(61);
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    for (const int64_t stride : {1, 2}) {
      for (const auto& [side, channels] :
           {std::pair<int64_t, int64_t>{32, 96}, {7, 24}, {4, 960}}) {
        const auto in = depthwise_inputs(8, side, channels, stride, type);
        const auto got = by_own_kernels(in.x, in.weight, in.dy, stride);
        const auto wide = [](const at::Tensor& t) { return t.to(at::kDouble); };
        const auto expected = by_aten(wide(in.x), wide(in.weight), wide(in.dy), stride);
        // Sums in fp32; a bf16 result is rounded once: up to 2^-9 of each element.
        const double tolerance = type == at::kFloat ? 1e-6 : 1.0 / 512;
        expect_within(got.y, expected.y, tolerance, "output");
        expect_within(got.dx, expected.dx, tolerance, "gradient of the input");
        expect_within(got.dweight, expected.dweight, 2 * tolerance, "gradient of the weight");
      }
    }
  }
}

TEST_F(GpuTest, ReplayedDepthwiseKernelsHaveTheBitsOfEager) {
  at::manual_seed(62);
  const at::Device device(at::kCUDA, 0);
  device::use_own_stream(device);
  for (const int64_t stride : {1, 2}) {
    auto in = depthwise_inputs(32, 16, 144, stride, at::kBFloat16);
    DepthwiseProducts recorded;
    const auto work = [&] { recorded = by_own_kernels(in.x, in.weight, in.dy, stride); };
    work();
    device::Graph graph;
    graph.capture(device, work);
    // Other numbers than when it was recorded.
    in.x.mul_(0.5);
    in.dy.add_(1);
    graph.replay();
    device::synchronise(device);
    const auto eager = by_own_kernels(in.x, in.weight, in.dy, stride);
    EXPECT_TRUE(at::equal(recorded.y, eager.y));
    EXPECT_TRUE(at::equal(recorded.dx, eager.dx));
    EXPECT_TRUE(at::equal(recorded.dweight, eager.dweight));
  }
}

// Gradients of all parameters of mobilenet_v2, by name.
std::vector<std::pair<std::string, at::Tensor>> mobilenet_gradients(const std::string& precision,
                                                                    bool own) {
  config::RunConfig config = test::world(precision);
  config.model.name = "mobilenet_v2";
  config.model.width_divisor = 2;  // all channels of depthwise layers are multiples of eight
  config.own_kernels = own;
  step::Session s = test::session(config);
  for (const nn::WeightLayer* layer : s.layers) EXPECT_EQ(layer->own_kernels, own);
  const auto batch = test::batch(config);
  at::manual_seed(63);  // dropout
  step::backprop(s, batch);
  std::vector<std::pair<std::string, at::Tensor>> out;
  for (const nn::WeightLayer* layer : s.layers) {
    out.emplace_back(layer->path(), layer->used_weight().grad().to(at::kDouble));
  }
  return out;
}

// |own - theirs| / |theirs| of one layer, or of all together.
double parted(const at::Tensor& own, const at::Tensor& theirs) {
  return (own - theirs).norm().item<double>() / theirs.norm().item<double>();
}

TEST_F(GpuTest, MobileNetHasTheSameGradientsWithOurDepthwiseKernels) {
  // fp32: other orders of additions through fifty layers. In bf16 each layer rounds, and what was
  // rounded otherwise grows through norms and masks.
  for (const auto& [precision, most] :
       {std::pair<const char*, double>{"fp32", 1e-3}, {"bf16", 0.1}}) {
    const auto own = mobilenet_gradients(precision, true);
    const auto theirs = mobilenet_gradients(precision, false);
    ASSERT_EQ(own.size(), theirs.size());
    std::vector<at::Tensor> all_own, all_theirs;
    for (size_t i = 0; i < own.size(); ++i) {
      all_own.push_back(own[i].second.flatten());
      all_theirs.push_back(theirs[i].second.flatten());
      EXPECT_LE(parted(own[i].second, theirs[i].second), 5 * most)
          << precision << " " << own[i].first;
    }
    EXPECT_LE(parted(at::cat(all_own), at::cat(all_theirs)), most) << precision;
  }
}

TEST_F(GpuTest, MobileNetWithOurDepthwiseKernelsIsDeterministic) {
  const auto first = mobilenet_gradients("bf16", true), second = mobilenet_gradients("bf16", true);
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(at::equal(first[i].second, second[i].second)) << first[i].first;
  }
}

}  // namespace
}  // namespace adagp

// The steps of DenseNet and MobileNet on a GPU, against the same steps in fp64 on the CPU.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/nn/conv_norm.h"
#include "gpu/train/world.h"

namespace adagp {
namespace {

using test::expect_close;
using test::GpuTest;

struct Gradients {
  at::Tensor output, input, weight, bias, running_var;
};

template <typename Step>
Gradients gradients_of(nn::BatchNorm2d norm, const at::Tensor& input, const Step& step) {
  const at::Tensor x = input.detach().clone().requires_grad_();
  const at::Tensor y = step(x);
  // A loss whose gradient differs from element to element.
  const at::Tensor weights = at::arange(y.numel(), y.options()).view(y.sizes()).sin();
  (y * weights).sum().backward();
  return {y.detach(), x.grad(), norm->weight.grad(), norm->bias.grad(), norm->running_var};
}

void expect_same(const Gradients& found, const Gradients& expected) {
  expect_close(found.output, expected.output, "output");
  expect_close(found.input, expected.input, "gradient of the input");
  expect_close(found.weight, expected.weight, "gradient of the weight");
  expect_close(found.bias, expected.bias, "gradient of the bias");
  expect_close(found.running_var, expected.running_var, "running variance");
}

// Two norms with the same weights: fp32 on the GPU, fp64 on the CPU.
std::pair<nn::BatchNorm2d, nn::BatchNorm2d> reference_norms(int64_t channels, double eps) {
  nn::BatchNorm2d device(channels, eps), host(channels, eps);
  {
    const at::NoGradGuard no_grad;
    device->weight.uniform_(0.5, 1.5), device->bias.uniform_(-0.5, 0.5);
    host->weight.copy_(device->weight), host->bias.copy_(device->bias);
  }
  device->to(at::kCUDA);
  host->to(at::kDouble);
  return {device, host};
}

TEST_F(GpuTest, NormReluIsNormThenReluAndKeepsItsInput) {
  at::manual_seed(31);
  for (const int64_t channels : {3, 64, 96}) {
    auto [device, host] = reference_norms(channels, 1e-3);
    const at::Tensor x = at::randn({4, channels, 9, 7});
    const at::Tensor on_device = x.to(at::kCUDA).contiguous(at::MemoryFormat::ChannelsLast);
    const auto found = gradients_of(device, on_device, [&device = device](const at::Tensor& t) {
      return nn::norm_relu(*device, t);
    });
    const auto expected =
        gradients_of(host, x.to(at::kDouble),
                     [&host = host](const at::Tensor& t) { return at::relu(host->forward(t)); });
    expect_same(found, expected);
    // Without gradients too nobody's tensor is overwritten: a dense layer reads it again.
    const at::NoGradGuard no_grad;
    for (const bool training : {true, false}) {
      device->train(training);
      nn::norm_relu(*device, on_device);
      EXPECT_TRUE(at::equal(on_device.cpu(), x)) << training;
    }
  }
}

TEST_F(GpuTest, DepthwiseConvNormWithRelu6IsItsSingleSteps) {
  at::manual_seed(32);
  constexpr int64_t kChannels = 24;
  auto [device, host] = reference_norms(kChannels, 1e-5);
  nn::Conv2d conv(nn::conv(kChannels, kChannels, 3, 2, 1, false, kChannels)),
      reference(nn::conv(kChannels, kChannels, 3, 2, 1, false, kChannels));
  {
    const at::NoGradGuard no_grad;
    conv->weight.mul_(4), reference->weight.copy_(conv->weight);  // some values pass 6
  }
  conv->to(at::kCUDA);
  reference->to(at::kDouble);
  nn::NormAct act;
  act.relu6 = true;
  const at::Tensor x = at::randn({4, kChannels, 16, 16}) * 3;
  const at::Tensor on_device = x.to(at::kCUDA).contiguous(at::MemoryFormat::ChannelsLast);
  const auto found = gradients_of(device, on_device, [&, &norm = device](const at::Tensor& t) {
    return nn::conv_norm(*conv, *norm, t, act);
  });
  const auto expected =
      gradients_of(host, x.to(at::kDouble), [&, &norm = host](const at::Tensor& t) {
        return at::clamp(norm->forward(reference->forward(t)), 0, 6);
      });
  expect_same(found, expected);
  expect_close(conv->weight.grad(), reference->weight.grad(), "gradient of the convolution");
}

}  // namespace
}  // namespace adagp

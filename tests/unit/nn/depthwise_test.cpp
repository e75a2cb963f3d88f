// Depthwise convolutions as a layer computes them by our kernels' references, against ATen.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/nn/depthwise.h"

namespace adagp::nn {
namespace {

struct DepthwiseResult {
  at::Tensor y, dx, dweight;
};

DepthwiseResult run_depthwise(Conv2d layer, const at::Tensor& input, bool own) {
  layer->own_kernels = own;
  layer->zero_grad();
  const at::Tensor x = input.detach().clone().requires_grad_();
  const at::Tensor y = layer->forward(x);
  // A loss whose gradient differs from element to element.
  (y * at::arange(y.numel(), y.options()).view(y.sizes()).sin()).sum().backward();
  return {y.detach(), x.grad().clone(), layer->weight.grad().clone()};
}

TEST(DepthwiseLayer, HasAtensOutputAndGradients) {
  at::manual_seed(51);
  for (const int64_t stride : {1, 2}) {
    for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
      Conv2d layer(conv(16, 16, 3, stride, 1, false, 16));
      const at::Tensor x = at::randn({3, 16, 9, 6}).contiguous(format);
      ASSERT_TRUE(fits_depthwise(layer->info(), x, layer->weight));
      const auto own = run_depthwise(layer, x, true), theirs = run_depthwise(layer, x, false);
      EXPECT_TRUE(own.y.is_contiguous(at::MemoryFormat::ChannelsLast));
      EXPECT_EQ(own.dweight.strides(), layer->weight.strides());
      // fp32 sums of nine products, and of 162 in the weight's gradient.
      EXPECT_TRUE(at::allclose(own.y, theirs.y, 1e-5, 1e-5));
      EXPECT_TRUE(at::allclose(own.dx, theirs.dx, 1e-5, 1e-5));
      EXPECT_TRUE(at::allclose(own.dweight, theirs.dweight, 1e-5, 1e-4));
      const at::NoGradGuard no_grad;
      layer->own_kernels = true;
      EXPECT_TRUE(at::equal(layer->forward(x), own.y));
    }
  }
}

TEST(DepthwiseLayer, GradientsThatNobodyNeedsAreNotComputed) {
  Conv2d layer(conv(8, 8, 3, 1, 1, false, 8));
  layer->own_kernels = true;
  layer->weight.requires_grad_(false);
  const at::Tensor x = at::randn({1, 8, 4, 4}).requires_grad_();
  layer->forward(x).sum().backward();
  EXPECT_TRUE(x.grad().defined());
  EXPECT_FALSE(layer->weight.grad().defined());
}

TEST(DepthwiseLayer, LeavesOtherConvolutionsToAten) {
  const at::Tensor x = at::randn({1, 24, 5, 5});
  const auto fits = [&](const Conv2dOptions& options, const at::Tensor& input) {
    const Conv2d layer(options);
    return fits_depthwise(layer->info(), input, layer->weight);
  };
  EXPECT_TRUE(fits(conv(24, 24, 3, 1, 1, false, 24), x));
  EXPECT_FALSE(fits(conv(24, 24, 3, 1, 1, false, 3), x)) << "eight channels share filters";
  EXPECT_FALSE(fits(conv(24, 48, 3, 1, 1, false, 24), x)) << "two filters for each channel";
  EXPECT_FALSE(fits(conv(24, 24, 5, 1, 2, false, 24), x)) << "5x5";
  EXPECT_FALSE(fits(conv(24, 24, 3, 1, 0, false, 24), x)) << "no padding";
  EXPECT_FALSE(fits(conv(24, 24, 3, 3, 1, false, 24), x)) << "stride 3";
  EXPECT_FALSE(fits(conv(24, 24, 3, 1, 1, false, 24), x.to(at::kDouble))) << "fp64";
  EXPECT_FALSE(fits(conv(12, 12, 3, 1, 1, false, 12), at::randn({1, 12, 5, 5}))) << "12 channels";
  // A bias is added by ATen.
  Conv2d biased(conv(24, 24, 3, 1, 1, true, 24));
  biased->own_kernels = true;
  const at::Tensor expected =
      at::conv2d(x, biased->weight, biased->bias, {1, 1}, {1, 1}, {1, 1}, 24);
  EXPECT_TRUE(at::equal(biased->forward(x), expected));
}

}  // namespace
}  // namespace adagp::nn

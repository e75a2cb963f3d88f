// DenseNet's 3x3 convolution as a layer computes it by our kernels' references, against ATen.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/nn/narrow_conv.h"

namespace adagp::nn {
namespace {

// As a session prepares it.
Conv2d narrow_layer(const Conv2dOptions& options) {
  Conv2d layer(options);
  layer->weight.set_data(layer->weight.contiguous(at::MemoryFormat::ChannelsLast));
  layer->make_bf16_copies();
  layer->own_kernels = true;
  return layer;
}

TEST(NarrowConvLayer, HasAtensOutputAndGradients) {
  at::manual_seed(85);
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    Conv2d layer = narrow_layer(conv(128, 32, 3, 1, 1, false));
    const at::Tensor x =
        at::randn({2, 128, 4, 6}).to(at::kBFloat16).contiguous(format).requires_grad_();
    ASSERT_TRUE(fits_narrow_conv(layer->info(), x, layer->used_weight()));
    const at::Tensor y = layer->forward(x);
    EXPECT_EQ(y.scalar_type(), at::kBFloat16);
    EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast));
    const at::Tensor dy = at::randn_like(y);
    y.backward(dy);
    const at::Tensor found = layer->bf16_weight.grad();
    EXPECT_EQ(found.strides(), layer->bf16_weight.strides());

    const auto wide = [](const at::Tensor& t) {
      return t.detach().to(at::kDouble).contiguous().requires_grad_();
    };
    const at::Tensor input = wide(x), weight = wide(layer->bf16_weight);
    const at::Tensor expected = at::conv2d(input, weight, {}, {1, 1}, {1, 1});
    expected.backward(dy.to(at::kDouble));
    // Rounded once; sums of 1152 products, and of 48 in the gradient of the weight.
    EXPECT_TRUE(at::allclose(y.detach().to(at::kDouble), expected.detach(), 1.0 / 256, 1e-4));
    EXPECT_TRUE(at::allclose(found.to(at::kDouble), weight.grad(), 1.0 / 256, 1e-4));
    // ATen's own sums of bf16 on a CPU.
    EXPECT_TRUE(at::allclose(x.grad().to(at::kDouble), input.grad(), 1.0 / 64, 1e-2));
    const at::NoGradGuard no_grad;
    EXPECT_TRUE(at::equal(layer->forward(x), y));
  }
}

TEST(NarrowConvLayer, GradientsThatNobodyNeedsAreNotComputed) {
  Conv2d layer = narrow_layer(conv(128, 32, 3, 1, 1, false));
  layer->bf16_weight.requires_grad_(false);
  const at::Tensor x = at::randn({1, 128, 4, 4}).to(at::kBFloat16);
  EXPECT_FALSE(layer->forward(x).requires_grad());
  const at::Tensor wanted = x.clone().requires_grad_();
  layer->forward(wanted).sum().backward();
  EXPECT_TRUE(wanted.grad().defined());
  EXPECT_FALSE(layer->bf16_weight.grad().defined());
}

TEST(NarrowConvLayer, LeavesOtherConvolutionsToAten) {
  const at::Tensor x = at::randn({1, 128, 8, 8}).to(at::kBFloat16);
  const auto fits = [](const Conv2dOptions& options, const at::Tensor& input) {
    const Conv2d layer = narrow_layer(options);
    return fits_narrow_conv(layer->info(), input, layer->used_weight());
  };
  EXPECT_TRUE(fits(conv(128, 32, 3, 1, 1, false), x));
  EXPECT_FALSE(fits(conv(128, 48, 3, 1, 1, false), x)) << "48 filters";
  EXPECT_FALSE(fits(conv(128, 32, 1, 1, 0, false), x)) << "1x1";
  EXPECT_FALSE(fits(conv(128, 32, 3, 2, 1, false), x)) << "stride 2";
  EXPECT_FALSE(fits(conv(128, 32, 3, 1, 0, false), x)) << "no padding";
  EXPECT_FALSE(fits(conv(128, 32, 3, 1, 1, false), x.to(at::kFloat))) << "fp32";
  const Conv2d layer(conv(128, 32, 3, 1, 1, false));
  EXPECT_FALSE(fits_narrow_conv(layer->info(), x, layer->weight)) << "fp32 weights";
  EXPECT_FALSE(fits_narrow_conv(layer->info(), x, layer->weight.to(at::kBFloat16)))
      << "channels first";
  // A bias is added by ATen.
  Conv2d biased = narrow_layer(conv(128, 32, 3, 1, 1, true));
  const at::Tensor expected = at::conv2d(x, biased->bf16_weight, biased->bf16_bias, {1, 1}, {1, 1});
  EXPECT_TRUE(at::equal(biased->forward(x), expected));
}

}  // namespace
}  // namespace adagp::nn

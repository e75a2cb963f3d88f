// The first convolution as a layer computes it by our kernels' references, against ATen.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/nn/image_conv.h"

namespace adagp::nn {
namespace {

// As a session prepares it.
Conv2d image_layer(const Conv2dOptions& options) {
  Conv2d layer(options);
  layer->weight.set_data(layer->weight.contiguous(at::MemoryFormat::ChannelsLast));
  layer->make_bf16_copies();
  layer->own_kernels = true;
  return layer;
}

TEST(ImageConvLayer, HasAtensOutputAndGradient) {
  at::manual_seed(81);
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
      Conv2d layer = image_layer(conv(3, 32, 3, 1, 1, false));
      const at::Tensor x = at::randn({3, 3, 8, 6}).to(type).contiguous(format);
      ASSERT_TRUE(fits_image_conv(layer->info(), x, layer->used_weight()));
      const at::Tensor y = layer->forward(x);
      EXPECT_EQ(y.scalar_type(), at::kBFloat16);
      EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast));
      const at::Tensor dy = at::randn_like(y);
      y.backward(dy);
      const at::Tensor found = layer->bf16_weight.grad();
      EXPECT_EQ(found.strides(), layer->bf16_weight.strides());

      const auto wide = [](const at::Tensor& t) {
        return t.detach().to(at::kBFloat16).to(at::kDouble).contiguous();
      };
      const at::Tensor weight = wide(layer->bf16_weight).requires_grad_();
      const at::Tensor expected = at::conv2d(wide(x), weight, {}, {1, 1}, {1, 1});
      expected.backward(wide(dy));
      // Rounded once; sums of 27 products, and of 144 in the gradient.
      EXPECT_TRUE(at::allclose(y.detach().to(at::kDouble), expected.detach(), 1.0 / 256, 1e-5));
      EXPECT_TRUE(at::allclose(found.to(at::kDouble), weight.grad(), 1.0 / 256, 1e-4));
      const at::NoGradGuard no_grad;
      EXPECT_TRUE(at::equal(layer->forward(x), y));
    }
  }
}

TEST(ImageConvLayer, GradientsThatNobodyNeedsAreNotComputed) {
  Conv2d layer = image_layer(conv(3, 32, 3, 1, 1, false));
  layer->bf16_weight.requires_grad_(false);
  EXPECT_FALSE(layer->forward(at::randn({1, 3, 4, 4})).requires_grad());
}

TEST(ImageConvLayer, LeavesOtherConvolutionsToAten) {
  const at::Tensor x = at::randn({1, 3, 8, 8});
  const auto fits = [](const Conv2dOptions& options, const at::Tensor& input) {
    const Conv2d layer = image_layer(options);
    return fits_image_conv(layer->info(), input, layer->used_weight());
  };
  EXPECT_TRUE(fits(conv(3, 64, 3, 1, 1, false), x));
  EXPECT_FALSE(fits(conv(3, 48, 3, 1, 1, false), x)) << "48 filters";
  EXPECT_FALSE(fits(conv(3, 64, 5, 1, 2, false), x)) << "5x5";
  EXPECT_FALSE(fits(conv(3, 64, 3, 2, 1, false), x)) << "stride 2";
  EXPECT_FALSE(fits(conv(3, 64, 3, 1, 0, false), x)) << "no padding";
  EXPECT_FALSE(fits(conv(6, 64, 3, 1, 1, false), at::randn({1, 6, 8, 8}))) << "6 channels";
  EXPECT_FALSE(fits(conv(3, 64, 3, 1, 1, false), at::randn({1, 3, 7, 7}))) << "7 wide";
  EXPECT_FALSE(fits(conv(3, 64, 3, 1, 1, false), x.to(at::kDouble))) << "fp64";
  EXPECT_FALSE(fits(conv(3, 64, 3, 1, 1, false), x.clone().requires_grad_()))
      << "the input wants a gradient";
  const Conv2d layer(conv(3, 64, 3, 1, 1, false));
  EXPECT_FALSE(fits_image_conv(layer->info(), x, layer->weight)) << "fp32 weights";
  const at::Tensor contiguous = layer->weight.to(at::kBFloat16);
  EXPECT_FALSE(fits_image_conv(layer->info(), x, contiguous)) << "channels first";
  // A bias is added by ATen.
  Conv2d biased = image_layer(conv(3, 64, 3, 1, 1, true));
  const at::Tensor expected =
      at::conv2d(x.to(at::kBFloat16), biased->bf16_weight, biased->bf16_bias, {1, 1}, {1, 1});
  EXPECT_TRUE(at::equal(biased->forward(x), expected));
}

}  // namespace
}  // namespace adagp::nn

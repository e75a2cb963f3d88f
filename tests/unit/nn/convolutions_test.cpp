// Which entry of the list of convolutions runs, for each kind of layer and input.

#include "adagp/engine/nn/convolutions.h"

#include <set>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace adagp::nn {
namespace {

// As a session prepares it.
Conv2d listed_layer(const Conv2dOptions& options, bool bf16, bool own = true) {
  Conv2d layer(options);
  layer->weight.set_data(layer->weight.contiguous(at::MemoryFormat::ChannelsLast));
  if (bf16) layer->make_bf16_copies();
  layer->own_kernels = own;
  return layer;
}

std::string_view chosen(const Conv2d& layer, const at::Tensor& x) {
  return find_convolution({*layer, x, layer->used_bias(), {1, 1}}).name;
}

constexpr bool kFp32 = false, kBf16 = true;

TEST(Convolutions, OurKernelsRunWhereTheyFitAndLibTorchElsewhere) {
  const at::Tensor images = at::randn({2, 3, 8, 8}), map = at::randn({2, 16, 8, 8}),
                   wide = at::randn({2, 128, 4, 4});
  const auto of_images = conv(3, 32, 3, 1, 1, false), depthwise = conv(16, 16, 3, 2, 1, false, 16),
             narrow = conv(128, 32, 3, 1, 1, false);
  EXPECT_EQ(chosen(listed_layer(of_images, kBf16), images), "own, of images");
  EXPECT_EQ(chosen(listed_layer(depthwise, kFp32), map), "own, depthwise");
  EXPECT_EQ(chosen(listed_layer(depthwise, kBf16), map), "own, depthwise");
  EXPECT_EQ(chosen(listed_layer(narrow, kBf16), wide), "own, narrow");

  EXPECT_EQ(chosen(listed_layer(of_images, kFp32), images), "LibTorch");
  EXPECT_EQ(chosen(listed_layer(narrow, kFp32), wide), "LibTorch");
  EXPECT_EQ(chosen(listed_layer(conv(16, 16, 3, 1, 1, false), kBf16), map), "LibTorch");
  for (const bool bf16 : {kFp32, kBf16}) {
    EXPECT_EQ(chosen(listed_layer(of_images, bf16, false), images), "LibTorch");
    EXPECT_EQ(chosen(listed_layer(depthwise, bf16, false), map), "LibTorch");
    EXPECT_EQ(chosen(listed_layer(narrow, bf16, false), wide), "LibTorch");
    EXPECT_EQ(chosen(listed_layer(conv(16, 16, 3, 1, 1, true, 16), bf16), map), "LibTorch")
        << "a bias";
  }
}

// A rule that says when it applies.
struct SometimesRule : ProductRule {
  bool applies() const override { return on; }
  at::Tensor product(const WeightLayer&, const at::Tensor& x, const at::Tensor&,
                     const at::Tensor&) const override {
    return x * 2;
  }
  bool on = false;
};

// They come before our kernels, which would compute something else.
TEST(Convolutions, ShapesAndTheRuleOfTheLayerComeFirst) {
  const at::Tensor x = at::randn({2, 16, 8, 8});
  Conv2d layer = listed_layer(conv(16, 16, 3, 1, 1, false, 16), kFp32);
  ASSERT_EQ(chosen(layer, x), "own, depthwise");
  EXPECT_EQ(chosen(layer, x.to(at::kMeta)), "shapes alone");
  const auto rule = std::make_shared<SometimesRule>();
  layer->rule = rule;
  EXPECT_EQ(chosen(layer, x), "own, depthwise");
  rule->on = true;
  EXPECT_EQ(chosen(layer, x), "rule of the layer");
  EXPECT_TRUE(at::equal(layer->forward(x), x * 2));
  EXPECT_EQ(chosen(layer, x.to(at::kMeta)), "shapes alone");
}

TEST(Convolutions, TheInputIsRoundedOnceForAllEntries) {
  const at::Tensor x = at::randn({2, 16, 8, 8}), none;
  const Conv2d layer = listed_layer(conv(16, 16, 3, 1, 1, false), kBf16);
  const Convolution asked{*layer, x, none, {8, 8}};
  const at::Tensor rounded = asked.rounded();
  EXPECT_EQ(rounded.scalar_type(), at::kBFloat16);
  for (const ConvolutionEntry& entry : convolutions()) entry.fits(asked);
  EXPECT_TRUE(asked.rounded().is_same(rounded));
}

TEST(Convolutions, NamesDiffer) {
  std::set<std::string_view> names;
  for (const ConvolutionEntry& entry : convolutions()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
  }
}

}  // namespace
}  // namespace adagp::nn

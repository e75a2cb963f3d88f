#include "adagp/engine/predictor/layout.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace adagp::predictor {
namespace {

at::Tensor gradient_in(nn::Conv2d& layer, const at::Tensor& gradient) {
  layer->weight.mutable_grad() = gradient;
  return gradient_of(*layer);
}

// The strides of dimensions of size 1 differ, the memory does not.
TEST(GradientOfALayer, IsNotCopiedForAnotherNameOfTheSameOrder) {
  nn::Conv2d layer(nn::conv(4, 8, 1));
  layer->weight.set_data(layer->weight.contiguous(at::MemoryFormat::ChannelsLast)
                             .as_strided({8, 4, 1, 1}, {4, 1, 4, 4}));
  const at::Tensor gradient = at::randn({8, 4, 1, 1}).as_strided({8, 4, 1, 1}, {4, 1, 1, 1});
  const at::Tensor found = gradient_in(layer, gradient);
  EXPECT_EQ(found.const_data_ptr(), gradient.const_data_ptr());
  EXPECT_EQ(found.strides(), layer->weight.strides());
  EXPECT_TRUE(at::equal(found, gradient));
}

TEST(GradientOfALayer, HasTheOrderOfItsWeight) {
  nn::Conv2d layer(nn::conv(4, 8, 3));
  layer->weight.set_data(layer->weight.contiguous(at::MemoryFormat::ChannelsLast));
  const at::Tensor gradient = at::randn({8, 4, 3, 3});
  const at::Tensor found = gradient_in(layer, gradient);
  EXPECT_NE(found.const_data_ptr(), gradient.const_data_ptr());
  EXPECT_EQ(found.strides(), layer->weight.strides());
  EXPECT_TRUE(at::equal(found, gradient));
}

}  // namespace
}  // namespace adagp::predictor

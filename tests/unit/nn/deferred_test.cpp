#include "adagp/nn/deferred.h"

#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include "adagp/nn/norm_sync.h"

namespace adagp::nn {
namespace {

struct Found {
  at::Tensor input, weight, bias;
};

// One forward and backward pass of `layer` on x; deferred: by way of a queue.
template <typename Layer>
Found gradients(Layer& layer, const at::Tensor& x, bool deferred) {
  layer->zero_grad();
  at::Tensor leaf = x.clone().requires_grad_();
  GradientQueue queue;
  at::Tensor y;
  if (deferred) {
    const DeferScope scope(queue);
    y = layer->forward(leaf);
  } else {
    y = layer->forward(leaf);
  }
  (y * y).sum().backward();
  if (deferred) {
    EXPECT_FALSE(layer->weight.grad().defined());
    EXPECT_FALSE(queue.empty());
    queue.run();
    EXPECT_TRUE(queue.empty());
  }
  return {leaf.grad(), layer->weight.grad().clone(),
          layer->bias.defined() ? layer->bias.grad().clone() : at::Tensor()};
}

template <typename Layer>
void expect_equal(Layer& layer, const at::Tensor& x) {
  const Found plain = gradients(layer, x, false), late = gradients(layer, x, true);
  EXPECT_TRUE(at::allclose(plain.input, late.input, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(plain.weight, late.weight, 1e-5, 1e-5));
  if (!plain.bias.defined()) return;
  EXPECT_TRUE(at::allclose(plain.bias, late.bias, 1e-5, 1e-5));
}

TEST(Deferred, ConvolutionsHaveTheGradientsOfAutograd) {
  at::manual_seed(1);
  for (const bool bias : {true, false}) {
    Conv2d layer(conv(4, 6, 3, 2, 1, bias, 2));
    expect_equal(layer, at::randn({3, 4, 9, 7}));
  }
}

TEST(Deferred, LinearLayersToo) {
  at::manual_seed(2);
  for (const bool bias : {true, false}) {
    Linear layer(5, 3, bias);
    expect_equal(layer, at::randn({4, 5}));
    expect_equal(layer, at::randn({2, 7, 5}));
  }
}

TEST(Deferred, TwoPassesAddUp) {
  at::manual_seed(3);
  Linear layer(5, 3);
  const at::Tensor x = at::randn({4, 5});
  const Found once = gradients(layer, x, false);
  layer->zero_grad();
  GradientQueue queue;
  {
    const DeferScope scope(queue);
    for (int i = 0; i < 2; ++i) {
      const at::Tensor y = layer->forward(x);
      (y * y).sum().backward();
    }
  }
  queue.run();
  EXPECT_TRUE(at::allclose(layer->weight.grad(), once.weight * 2, 1e-5, 1e-5));
}

TEST(Deferred, NothingIsPutOffWithoutAutograd) {
  GradientQueue queue;
  const DeferScope scope(queue);
  const at::NoGradGuard no_grad;
  EXPECT_EQ(gradient_queue(), nullptr);
}

// Alone in the world, the statistics of all are the process's own.
TEST(NormSync, OfOneProcessIsBatchNorm) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({4, 3, 5, 5}).mul_(3).add_(7);
  const at::Tensor weight = at::rand({3}).requires_grad_(), bias = at::rand({3}).requires_grad_();
  const NormSync alone{[](at::Tensor&) {}, 1};
  at::Tensor mean[2], variance[2], gradient[2][3], y[2];
  for (int i = 0; i < 2; ++i) {
    at::Tensor leaf = x.clone().requires_grad_();
    mean[i] = at::zeros({3});
    variance[i] = at::ones({3});
    y[i] = i == 0 ? at::batch_norm(leaf, weight, bias, mean[i], variance[i], true, 0.1, 1e-5, false)
                  : synced_batch_norm(alone, leaf, weight, bias, mean[i], variance[i], 0.1, 1e-5);
    (y[i] * y[i] * y[i]).sum().backward();
    gradient[i][0] = leaf.grad();
    gradient[i][1] = weight.grad().clone();
    gradient[i][2] = bias.grad().clone();
    weight.mutable_grad().reset();
    bias.mutable_grad().reset();
  }
  EXPECT_TRUE(at::allclose(y[0], y[1], 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(mean[0], mean[1], 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(variance[0], variance[1], 1e-5, 1e-6));
  for (int g = 0; g < 3; ++g) EXPECT_TRUE(at::allclose(gradient[0][g], gradient[1][g], 1e-4, 1e-3));
}

}  // namespace
}  // namespace adagp::nn

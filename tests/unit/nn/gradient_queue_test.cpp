#include "adagp/engine/nn/gradient_queue.h"

#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/nn/layer.h"
#include "adagp/engine/nn/norm_sync.h"
#include "adagp/engine/nn/side_gradients.h"

namespace adagp::nn {
namespace {

struct Found {
  at::Tensor input, weight, bias;
};

// One forward and backward pass of `layer` on x; queued: by way of a queue.
template <typename Layer>
Found gradients(Layer& layer, const at::Tensor& x, bool queued) {
  layer->zero_grad();
  at::Tensor leaf = x.clone().requires_grad_();
  const auto queue = std::make_shared<PutOffGradients>();
  at::Tensor y;
  if (queued) {
    const QueueScope scope(queue);
    y = layer->forward(leaf);
  } else {
    y = layer->forward(leaf);
  }
  (y * y).sum().backward();
  if (queued) {
    EXPECT_FALSE(layer->weight.grad().defined());
    EXPECT_FALSE(queue->empty());
    queue->run();
    EXPECT_TRUE(queue->empty());
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

TEST(GradientQueue, ConvolutionsHaveTheGradientsOfAutograd) {
  at::manual_seed(1);
  for (const bool bias : {true, false}) {
    Conv2d layer(conv(4, 6, 3, 2, 1, bias, 2));
    expect_equal(layer, at::randn({3, 4, 9, 7}));
  }
}

TEST(GradientQueue, LinearLayersToo) {
  at::manual_seed(2);
  for (const bool bias : {true, false}) {
    Linear layer(5, 3, bias);
    expect_equal(layer, at::randn({4, 5}));
    expect_equal(layer, at::randn({2, 7, 5}));
  }
}

TEST(GradientQueue, ConvolutionsOfOurKernelsToo) {
  at::manual_seed(5);
  Conv2d depthwise(conv(8, 8, 3, 2, 1, false, 8));
  depthwise->own_kernels = true;
  expect_equal(depthwise, at::randn({3, 8, 9, 7}));
}

// In bf16, as networks on a GPU use them.
void expect_equal_in_bf16(Conv2d& layer, const at::Tensor& x) {
  layer->weight.set_data(layer->weight.contiguous(at::MemoryFormat::ChannelsLast));
  layer->make_bf16_copies();
  at::Tensor of_weight[2];
  for (int late = 0; late < 2; ++late) {
    layer->bf16_weight.mutable_grad().reset();
    const auto queue = std::make_shared<PutOffGradients>();
    at::Tensor y;
    if (late != 0) {
      const QueueScope scope(queue);
      y = layer->forward(x);
    } else {
      y = layer->forward(x);
    }
    y.sum().backward();
    EXPECT_EQ(queue->empty(), late == 0);
    EXPECT_EQ(layer->bf16_weight.grad().defined(), late == 0);
    queue->run();
    of_weight[late] = layer->bf16_weight.grad();
  }
  EXPECT_TRUE(at::equal(of_weight[0], of_weight[1]));
}

TEST(GradientQueue, ConvolutionsOfOurBf16KernelsToo) {
  at::manual_seed(6);
  Conv2d narrow(conv(128, 32, 3, 1, 1, false)), image(conv(3, 64, 3, 1, 1, false));
  narrow->own_kernels = true;
  image->own_kernels = true;
  expect_equal_in_bf16(narrow, at::randn({2, 128, 8, 8}).to(at::kBFloat16).requires_grad_());
  expect_equal_in_bf16(image, at::randn({2, 3, 32, 32}));
}

TEST(GradientQueue, AFirstGradientIsTakenAndNotCopied) {
  const at::Tensor leaf = at::zeros({8, 4, 1, 1}).requires_grad_();
  const at::Tensor gradient = at::ones_like(leaf.detach());
  const void* memory = gradient.const_data_ptr();
  add_gradient(leaf, gradient);
  EXPECT_EQ(leaf.grad().const_data_ptr(), memory);
  add_gradient(leaf, at::ones({8, 4, 1, 1}));
  EXPECT_TRUE(at::equal(leaf.grad(), at::full({8, 4, 1, 1}, 2.0)));

  const at::Tensor kept = at::ones({8, 4, 1, 1}), other = at::zeros({8, 4, 1, 1}).requires_grad_();
  const at::Tensor second_name = kept;
  add_gradient(other, kept);
  EXPECT_NE(other.grad().const_data_ptr(), kept.const_data_ptr()) << "somebody else holds it";
}

TEST(GradientQueue, ACpuHasNoStreamBeside) {
  const SideGradients beside(at::Device(at::kCPU));
  const at::Tensor weight = at::zeros({8, 4, 1, 1}, at::kBFloat16).requires_grad_();
  const at::Tensor x = at::zeros({1, 4, 2, 2}, at::kBFloat16).requires_grad_();
  EXPECT_FALSE(beside.takes(x, weight));
}

TEST(GradientQueue, TwoPassesAddUp) {
  at::manual_seed(3);
  Linear layer(5, 3);
  const at::Tensor x = at::randn({4, 5});
  const Found once = gradients(layer, x, false);
  layer->zero_grad();
  const auto queue = std::make_shared<PutOffGradients>();
  {
    const QueueScope scope(queue);
    for (int i = 0; i < 2; ++i) {
      const at::Tensor y = layer->forward(x);
      (y * y).sum().backward();
    }
  }
  queue->run();
  EXPECT_TRUE(at::allclose(layer->weight.grad(), once.weight * 2, 1e-5, 1e-5));
}

TEST(GradientQueue, NothingIsPutOffWithoutAutograd) {
  const auto queue = std::make_shared<PutOffGradients>();
  const QueueScope scope(queue);
  const at::NoGradGuard no_grad;
  const at::Tensor x = at::zeros({1});
  EXPECT_EQ(gradient_queue(x, x), nullptr);
  const at::AutoGradMode again(true);
  EXPECT_EQ(gradient_queue(x, x), queue);
}

// A queue that takes a gradient only where the input has one, as SideGradients does.
class OfInnerLayers final : public GradientQueue {
 public:
  bool takes(const at::Tensor& x, const at::Tensor&) const override { return x.requires_grad(); }
  void push(std::vector<at::Tensor>, std::function<void()> work) override {
    ++pushed;
    work();
  }
  int pushed = 0;
};

// One layer on an image and on a map, in either order: its gradients go one way.
TEST(GradientQueue, AllProductsOfAWeightGoTheWayOfTheFirst) {
  at::manual_seed(7);
  Conv2d layer(conv(4, 4, 3, 1, 1));
  const at::Tensor image = at::randn({2, 4, 5, 5});
  const at::Tensor map = at::randn({2, 4, 5, 5}).requires_grad_();
  for (const bool image_first : {true, false}) {
    at::Tensor of_weight[2];
    for (const bool queued : {false, true}) {
      layer->zero_grad();
      const auto queue = std::make_shared<OfInnerLayers>();
      at::Tensor first, second;
      {
        const QueueScope scope(queued ? queue : nullptr);
        first = layer->forward(image_first ? image : map);
        second = layer->forward(image_first ? map : image);
      }
      (first * second).sum().backward();
      EXPECT_EQ(queue->pushed, queued && !image_first ? 2 : 0);
      of_weight[queued ? 1 : 0] = layer->weight.grad().clone();
    }
    EXPECT_TRUE(at::allclose(of_weight[0], of_weight[1], 1e-5, 1e-5));
  }
}

TEST(GradientQueue, AFrozenBiasDoesNotSendTheWeightAnotherWay) {
  at::manual_seed(8);
  Conv2d layer(conv(3, 4, 3));
  layer->bias.requires_grad_(false);
  const auto queue = std::make_shared<PutOffGradients>();
  at::Tensor y;
  {
    const QueueScope scope(queue);
    y = layer->forward(at::randn({2, 3, 5, 5}));
  }
  y.sum().backward();
  EXPECT_FALSE(layer->weight.grad().defined());
  queue->run();
  EXPECT_TRUE(layer->weight.grad().defined());
  EXPECT_FALSE(layer->bias.grad().defined());
}

TEST(GradientQueue, WeightsThatAreNoLeavesStayWithAutograd) {
  const auto queue = std::make_shared<PutOffGradients>();
  const at::Tensor leaf = at::randn({3, 5}).requires_grad_();
  const QueueScope scope(queue);
  EXPECT_EQ(gradient_queue(at::randn({2, 5}), leaf * 2), nullptr);
  EXPECT_EQ(gradient_queue(at::randn({2, 5}), leaf), queue);
}

TEST(GradientQueue, ABackwardPassWithoutItsQueueIsRefused) {
  for (const bool depthwise : {false, true}) {
    Conv2d layer(conv(8, 8, 3, 1, 1, false, depthwise ? 8 : 1));
    layer->own_kernels = depthwise;
    at::Tensor y;
    {
      const QueueScope scope(std::make_shared<PutOffGradients>());
      y = layer->forward(at::randn({1, 8, 4, 4}));
    }
    EXPECT_THROW(y.sum().backward(), Error);
    EXPECT_FALSE(layer->weight.grad().defined());
  }
}

TEST(GradientQueue, WorkThatIsNeverRunDiesWithItsQueue) {
  std::weak_ptr<GradientQueue> watched;
  {
    Linear first(5, 4), second(4, 3);
    const auto queue = std::make_shared<PutOffGradients>();
    watched = queue;
    const QueueScope scope(queue);
    second->forward(first->forward(at::randn({2, 5}))).sum().backward();
    EXPECT_FALSE(queue->empty());
  }
  EXPECT_TRUE(watched.expired()) << "the graph and the queue hold each other";
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

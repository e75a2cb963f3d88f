// A dense block in one buffer on a GPU, against concatenations in fp64 on the CPU.

#include "adagp/nn/growing_map.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/nn/conv_norm.h"
#include "gpu/train/world.h"

namespace adagp {
namespace {

using test::expect_close;
using test::GpuTest;

constexpr int64_t kFirst = 16, kGrowth = 8, kLayers = 4, kRoom = kFirst + kLayers * kGrowth;

// Norm, ReLU, convolution, concat; four times.
struct DenseBlock {
  std::vector<nn::BatchNorm2d> norms;
  std::vector<nn::Conv2d> convs;

  DenseBlock() {
    for (int64_t i = 0; i < kLayers; ++i) {
      norms.emplace_back(kFirst + i * kGrowth);
      convs.emplace_back(nn::conv(kFirst + i * kGrowth, kGrowth, 3, 1, 1, false));
      const at::NoGradGuard no_grad;
      norms.back()->weight.uniform_(0.5, 1.5), norms.back()->bias.uniform_(-0.5, 0.5);
    }
  }
  void copy(const DenseBlock& from) {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < norms.size(); ++i) {
      norms[i]->weight.copy_(from.norms[i]->weight), norms[i]->bias.copy_(from.norms[i]->bias);
      convs[i]->weight.copy_(from.convs[i]->weight);
    }
  }
  template <typename To>
  void to(const To& where) {
    for (auto& norm : norms) norm->to(where);
    for (auto& conv : convs) conv->to(where);
  }
  void train(bool on) {
    for (auto& norm : norms) norm->train(on);
  }
  at::Tensor grown(at::Tensor x) {
    for (size_t i = 0; i < norms.size(); ++i) {
      const nn::NormBranch branch = nn::norm_relu_branch(*norms[i], x);
      x = nn::grow(branch.passed_on, convs[i]->forward(branch.normed), kRoom);
    }
    return x;
  }
  at::Tensor concatenated(at::Tensor x) {
    for (size_t i = 0; i < norms.size(); ++i) {
      x = at::cat({x, convs[i]->forward(at::relu(norms[i]->forward(x)))}, 1);
    }
    return x;
  }
};

TEST_F(GpuTest, GrowingMapEqualsConcatenations) {
  at::manual_seed(41);
  DenseBlock device, host;
  host.copy(device);
  device.to(at::kCUDA), host.to(at::kDouble);
  const at::Tensor values = at::randn({4, kFirst, 6, 6});
  const at::Tensor x =
      values.to(at::kCUDA).contiguous(at::MemoryFormat::ChannelsLast).detach().requires_grad_();
  const at::Tensor reference = values.to(at::kDouble).requires_grad_();
  const at::Tensor found = device.grown(x), expected = host.concatenated(reference);
  expect_close(found.detach(), expected.detach(), "output");
  const at::Tensor weights =
      at::arange(expected.numel(), expected.options()).view(expected.sizes()).sin();
  (expected * weights).sum().backward();
  (found * weights.to(found.options())).sum().backward();
  expect_close(x.grad(), reference.grad(), "gradient of the input");
  for (size_t i = 0; i < device.norms.size(); ++i) {
    expect_close(device.norms[i]->weight.grad(), host.norms[i]->weight.grad(), "norm's weight");
    expect_close(device.norms[i]->bias.grad(), host.norms[i]->bias.grad(), "norm's bias");
    expect_close(device.norms[i]->running_var, host.norms[i]->running_var, "running variance");
    expect_close(device.convs[i]->weight.grad(), host.convs[i]->weight.grad(), "convolution");
  }
  const at::NoGradGuard no_grad;
  for (const bool training : {true, false}) {
    device.train(training), host.train(training);
    expect_close(device.grown(x), host.concatenated(reference), "without gradients");
  }
}

// The layers share one buffer, whose first channels are copied once; what is kept is made dense.
TEST_F(GpuTest, GrowingMapHasOneBuffer) {
  at::manual_seed(42);
  const auto random = [](int64_t channels) {
    return at::randn({2, channels, 4, 4}, at::device(at::kCUDA))
        .contiguous(at::MemoryFormat::ChannelsLast);
  };
  const at::NoGradGuard no_grad;
  const at::Tensor first = random(8), second = random(8), third = random(8);
  const at::Tensor two = nn::grow(first, second, 24);
  const at::Tensor kept = nn::dense(two);
  const at::Tensor three = nn::grow(two, third, 24);
  EXPECT_TRUE(three.is_alias_of(two));
  EXPECT_FALSE(two.is_alias_of(first));
  EXPECT_FALSE(kept.is_alias_of(two));
  EXPECT_TRUE(at::equal(three, at::cat({first, second, third}, 1)));
  EXPECT_TRUE(at::equal(kept, at::cat({first, second}, 1)));
  // A dense map gets a buffer of its own, so the other one stays as it is.
  const at::Tensor again = nn::grow(kept, first, 24);
  EXPECT_TRUE(at::equal(again, at::cat({first, second, first}, 1)));
  EXPECT_TRUE(at::equal(three, at::cat({first, second, third}, 1)));
}

}  // namespace
}  // namespace adagp

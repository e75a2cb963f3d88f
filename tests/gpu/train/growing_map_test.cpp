// A dense block in one buffer on a GPU, against concatenations in fp64 on the CPU.

#include "adagp/engine/nn/growing_map.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/nn/conv_norm.h"
#include "gpu/train/dense_block.h"
#include "gpu/train/world.h"

namespace adagp {
namespace {

using test::DenseBlock;
using test::expect_close;
using test::GpuTest;
using test::kEven;
using test::kLayers;
using test::kOdd;
using test::on_gpu;
using test::Sizes;

// The same weights on the GPU in fp32 and on the CPU in fp64.
struct Blocks {
  explicit Blocks(const Sizes& sizes) : device(sizes), host(sizes) {
    host.copy(device);
    device.to(at::kCUDA), host.to(at::kDouble);
  }
  DenseBlock device, host;
};

void expect_same_gradients(const Blocks& blocks, size_t first) {
  for (size_t i = first; i <= kLayers; ++i) {
    const auto &device = *blocks.device.norms[i], &host = *blocks.host.norms[i];
    expect_close(device.weight.grad(), host.weight.grad(), "norm's weight");
    expect_close(device.bias.grad(), host.bias.grad(), "norm's bias");
  }
  for (size_t i = first; i < kLayers; ++i) {
    expect_close(blocks.device.convs[i]->weight.grad(), blocks.host.convs[i]->weight.grad(),
                 "convolution");
  }
}

void expect_same_statistics(const Blocks& blocks) {
  for (size_t i = 0; i <= kLayers; ++i) {
    const auto &device = *blocks.device.norms[i], &host = *blocks.host.norms[i];
    expect_close(device.running_mean, host.running_mean, "running mean");
    expect_close(device.running_var, host.running_var, "running variance");
    EXPECT_EQ(device.num_batches_tracked.item<int64_t>(), host.num_batches_tracked.item<int64_t>());
  }
}

// A loss whose gradient differs from element to element.
void backward(const at::Tensor& found, const at::Tensor& expected) {
  const at::Tensor weights =
      at::arange(expected.numel(), expected.options()).view(expected.sizes()).sin();
  (expected * weights).sum().backward();
  (found * weights.to(found.options())).sum().backward();
}

TEST_F(GpuTest, GrowingMapEqualsConcatenations) {
  for (const Sizes& sizes : {kEven, kOdd}) {
    SCOPED_TRACE(sizes.first);
    at::manual_seed(41);
    Blocks blocks(sizes);
    const at::Tensor values = at::randn({4, sizes.first, 6, 6}) * 2 + 3;
    const at::Tensor x = on_gpu(values).requires_grad_();
    const at::Tensor reference = values.to(at::kDouble).requires_grad_();
    const at::Tensor found = blocks.device.grown(x), expected = blocks.host.concatenated(reference);
    expect_close(found.detach(), expected.detach(), "output");
    backward(found, expected);
    expect_close(x.grad(), reference.grad(), "gradient of the input");
    expect_same_gradients(blocks, 0);
    expect_same_statistics(blocks);
    const at::NoGradGuard no_grad;
    for (const bool training : {true, false, true}) {
      blocks.device.train(training), blocks.host.train(training);
      expect_close(blocks.device.grown(x), blocks.host.concatenated(reference), "no gradients");
      expect_same_statistics(blocks);
    }
    const nn::KeepStatistics kept;
    expect_close(blocks.device.grown(x), blocks.host.concatenated(reference), "kept statistics");
    expect_same_statistics(blocks);
  }
}

// Maps of one position, and of one pixel.
TEST_F(GpuTest, GrowingMapOfOnePixel) {
  at::manual_seed(47);
  for (const int64_t batch : {1, 6}) {
    SCOPED_TRACE(batch);
    Blocks blocks(kEven);
    blocks.device.train(batch > 1), blocks.host.train(batch > 1);
    const at::Tensor values = at::randn({batch, kEven.first, 1, 1});
    const at::NoGradGuard no_grad;
    expect_close(blocks.device.grown(on_gpu(values)),
                 blocks.host.concatenated(values.to(at::kDouble)), "output");
  }
}

// The layers share one buffer, whose first channels are copied once; what is kept is made dense.
TEST_F(GpuTest, GrowingMapHasOneBuffer) {
  at::manual_seed(42);
  const auto random = [](int64_t channels) { return on_gpu(at::randn({2, channels, 4, 4})); };
  const at::NoGradGuard no_grad;
  nn::GrowingMap map(24);
  const at::Tensor first = random(8), second = random(8), third = random(8);
  const at::Tensor two = map.grow(first, second);
  const at::Tensor kept = nn::dense(two);
  const at::Tensor three = map.grow(two, third);
  EXPECT_TRUE(three.is_alias_of(two));
  EXPECT_FALSE(two.is_alias_of(first));
  EXPECT_FALSE(kept.is_alias_of(two));
  EXPECT_TRUE(at::equal(three, at::cat({first, second, third}, 1)));
  EXPECT_TRUE(at::equal(kept, at::cat({first, second}, 1)));
  // A dense map gets a buffer of its own, so the other one stays as it is.
  const at::Tensor again = map.grow(kept, first);
  EXPECT_TRUE(at::equal(again, at::cat({first, second, first}, 1)));
  EXPECT_TRUE(at::equal(three, at::cat({first, second, third}, 1)));

  // In training the norm brings the map into the buffer.
  nn::BatchNorm2d norm(8);
  norm->to(at::kCUDA);
  const at::Tensor passed_on = map.norm_relu_branch(*norm, first).passed_on;
  EXPECT_TRUE(at::equal(passed_on, first));
  EXPECT_FALSE(passed_on.is_alias_of(first));
  EXPECT_TRUE(map.grow(passed_on, second).is_alias_of(passed_on));
}

TEST_F(GpuTest, GrowingMapRefusesOtherPositions) {
  const at::NoGradGuard no_grad;
  nn::GrowingMap map(24);
  const at::Tensor x = on_gpu(at::randn({2, 8, 4, 4}));
  EXPECT_THROW(map.grow(x, on_gpu(at::randn({2, 8, 4, 3}))), Error);
  EXPECT_THROW(map.grow(x, on_gpu(at::randn({1, 8, 4, 4}))), Error);
  EXPECT_THROW(map.grow(x, on_gpu(at::randn({2, 17, 4, 4}))), UsageError);
}

// A map that was kept at a cut: the rest of the block runs on it again, in a buffer of its own.
TEST_F(GpuTest, GrowingMapRunsAgainOnAKeptCopy) {
  for (const Sizes& sizes : {kEven, kOdd}) {
    SCOPED_TRACE(sizes.first);
    at::manual_seed(43);
    Blocks blocks(sizes);
    const at::Tensor values = at::randn({4, sizes.first, 6, 6});
    at::Tensor kept, half, expected_half;
    {
      const at::NoGradGuard no_grad;
      half = blocks.device.layer(1, blocks.device.layer(0, on_gpu(values)));
      kept = nn::dense(half).clone();
      expected_half =
          blocks.host.layer_by_steps(1, blocks.host.layer_by_steps(0, values.to(at::kDouble)));
      expect_close(blocks.device.grown(half, 2), blocks.host.concatenated(expected_half, 2),
                   "once");
    }
    const at::Tensor x = kept.detach().requires_grad_();
    const at::Tensor reference = expected_half.detach().requires_grad_();
    const at::Tensor found = blocks.device.grown(x, 2);
    const at::Tensor expected = blocks.host.concatenated(reference, 2);
    expect_close(found.detach(), expected.detach(), "again");
    backward(found, expected);
    expect_close(x.grad(), reference.grad(), "gradient of the copy");
    expect_same_gradients(blocks, 2);
    expect_same_statistics(blocks);
    EXPECT_TRUE(at::equal(half, kept)) << "the first buffer is as it was";
  }
}

// relu(norm(x)) by its definition.
at::Tensor normed(const nn::BatchNorm2d& norm, const at::Tensor& x) {
  const at::Tensor v = x.cpu().to(at::kDouble);
  const auto row = [](const at::Tensor& t) { return t.cpu().to(at::kDouble).view({1, -1, 1, 1}); };
  const at::Tensor mean = v.mean({0, 2, 3}, true), var = v.var({0, 2, 3}, false, true);
  return at::relu((v - mean) / (var + norm->eps()).sqrt() * row(norm->weight) + row(norm->bias));
}

nn::BatchNorm2d random_norm(int64_t channels) {
  nn::BatchNorm2d out(channels);
  out->to(at::kCUDA);
  const at::NoGradGuard no_grad;
  out->weight.uniform_(0.5, 1.5), out->bias.uniform_(-0.5, 0.5);
  return out;
}

// Statistics are those of the data, whatever was in the buffer before and whatever part of it a
// norm reads.
TEST_F(GpuTest, GrowingMapTakesNoStatisticsForThoseOfOtherData) {
  at::manual_seed(44);
  const at::NoGradGuard no_grad;
  nn::GrowingMap map(24);
  nn::BatchNorm2d one = random_norm(8), two = random_norm(16), three = random_norm(24);
  const auto random = [](double mean) { return on_gpu(at::randn({4, 8, 5, 5}) * 2 + mean); };
  const at::Tensor first = random(0);
  const at::Tensor begun = map.norm_relu_branch(*one, first).passed_on;
  const at::Tensor grown = map.grow(map.grow(begun, random(5)), random(-3));
  expect_close(map.norm_relu(*three, grown), normed(three, grown), "the whole");
  // Some of the images: another batch, with statistics of its own.
  const at::Tensor part = grown.narrow(0, 0, 2);
  expect_close(map.norm_relu(*three, part), normed(three, part), "two images");
  // Other channels.
  const at::Tensor behind = grown.narrow(1, 8, 16);
  expect_close(map.norm_relu(*two, behind), normed(two, behind), "channels 8 to 23");
  // Grown again from the first map on.
  const at::Tensor again = map.grow(begun, random(40));
  expect_close(map.norm_relu_branch(*two, again).normed, normed(two, again), "grown again");
  const at::Tensor whole = map.grow(again, random(-7));
  expect_close(map.norm_relu(*three, whole), normed(three, whole), "the whole again");
  // Another map in a buffer of its own, and then the first buffer, which is no longer known.
  const at::Tensor other = map.norm_relu_branch(*one, random(9)).passed_on;
  const at::Tensor other_two = map.grow(other, random(11));
  expect_close(map.norm_relu(*three, whole), normed(three, whole), "the first buffer");
  expect_close(map.norm_relu_branch(*two, again).normed, normed(two, again), "its first part");
  expect_close(map.norm_relu_branch(*two, other_two).normed, normed(two, other_two), "the other");
  const at::Tensor elsewhere = map.grow(again, random(2));  // into the first buffer, not known
  expect_close(map.norm_relu(*three, elsewhere), normed(three, elsewhere), "unknown");
  expect_close(map.norm_relu_branch(*two, other_two).normed, normed(two, other_two), "known still");
}

// In bf16, against the definition on the very values that each norm read.
TEST_F(GpuTest, GrowingMapInBf16) {
  for (const Sizes& sizes : {kEven, kOdd, Sizes{64, 32}}) {
    SCOPED_TRACE(sizes.first);
    at::manual_seed(45);
    const at::NoGradGuard no_grad;
    DenseBlock block(sizes);
    block.to(at::kCUDA);
    for (auto& conv : block.convs) conv->make_bf16_copies();
    at::Tensor x = on_gpu(at::randn({6, sizes.first, 7, 7}) * 2 + 5, at::kBFloat16);
    for (size_t i = 0; i <= kLayers; ++i) {
      const at::Tensor input = x;
      at::Tensor found;
      if (i < kLayers) {
        const nn::NormBranch branch = block.map.norm_relu_branch(*block.norms[i], x);
        found = branch.normed;
        x = block.map.grow(branch.passed_on, *block.convs[i], found);
        EXPECT_TRUE(at::equal(x.narrow(1, 0, input.size(1)), input));
        EXPECT_TRUE(
            at::equal(x.narrow(1, input.size(1), sizes.growth), block.convs[i]->forward(found)));
      } else {
        found = block.map.norm_relu(*block.norms[i], x);
      }
      ASSERT_EQ(found.scalar_type(), at::kBFloat16);
      const at::Tensor expected = normed(block.norms[i], input);
      // One rounding of the output.
      EXPECT_LE((found.cpu().to(at::kDouble) - expected).abs().max().item<double>(),
                std::ldexp(expected.abs().max().item<double>(), -8) + 1e-4);
      const at::Tensor values = input.cpu().to(at::kDouble);
      expect_close(block.norms[i]->running_mean, values.mean({0, 2, 3}) * 0.1, "running mean");
      expect_close(block.norms[i]->running_var, values.var({0, 2, 3}, true) * 0.1 + 0.9,
                   "running variance");
    }
  }
}

}  // namespace
}  // namespace adagp

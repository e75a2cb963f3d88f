// Branches that write their results into one map, on a GPU, against a concat of theirs.

#include "adagp/engine/nn/joined_map.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/engine/nn/conv_norm.h"
#include "gpu/train/world.h"

namespace adagp {
namespace {

using test::GpuTest;

// Two branches of convolution, norm and ReLU, and one that is a pool.
struct JoinedBranches {
  nn::Conv2d left{nn::conv(32, 24, 3, 1, 1, false)}, right{nn::conv(32, 40, 1, 1, 0, false)};
  nn::BatchNorm2d left_norm{24}, right_norm{40};

  JoinedBranches() {
    for (auto* layer : {&left, &right}) {
      (*layer)->to(at::kCUDA);
      (*layer)->weight.set_data((*layer)->weight.contiguous(at::MemoryFormat::ChannelsLast));
      (*layer)->make_bf16_copies();
    }
    left_norm->to(at::kCUDA);
    right_norm->to(at::kCUDA);
  }

  // The statistics kernels take the running mean for the middle of the data, so equal bits need an
  // equal one.
  void reset() {
    for (auto* norm : {&left_norm, &right_norm}) {
      (*norm)->running_mean.zero_();
      (*norm)->running_var.fill_(1);
    }
  }

  at::Tensor forward(const at::Tensor& x, bool in_place) {
    nn::JoinedMap map(24 + 32 + 40);
    nn::NormAct act = nn::relu_act();
    if (in_place) act.place = {&map, 0};
    const at::Tensor a = nn::conv_norm(*left, *left_norm, x, act);
    const at::Tensor b = at::max_pool2d(x, {3, 3}, {1, 1}, {1, 1});
    if (in_place) act.place = {&map, 56};
    const at::Tensor c = nn::conv_norm(*right, *right_norm, x, act);
    if (in_place) {
      EXPECT_EQ(device::pitch_of(a), 96);
    }
    return map.join(0, {a, b, c});
  }
};

at::Tensor joined_input(int64_t channels) {
  return at::randn({16, channels, 8, 8}, at::TensorOptions(at::kCUDA))
      .to(at::kBFloat16)
      .contiguous(at::MemoryFormat::ChannelsLast);
}

TEST_F(GpuTest, BranchesThatWriteIntoOneMapHaveTheBitsOfAConcat) {
  at::manual_seed(53);
  at::globalContext().setDeterministicCuDNN(true);
  JoinedBranches branches;
  const at::Tensor x = joined_input(32).requires_grad_(), dy = joined_input(96);
  const auto run = [&](bool in_place) {
    branches.reset();
    const at::Tensor y = branches.forward(x, in_place);
    EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast));
    auto out = torch::autograd::grad({y},
                                     {x, branches.left->bf16_weight, branches.right->bf16_weight,
                                      branches.left_norm->weight, branches.right_norm->bias},
                                     {dy});
    out.push_back(y.detach());
    return out;
  };
  const auto joined = run(true), expected = run(false);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::equal(joined[i], expected[i])) << i;
  {
    const at::NoGradGuard no_grad;
    branches.reset();
    const at::Tensor y = branches.forward(x, true);
    branches.reset();
    EXPECT_TRUE(at::equal(y, branches.forward(x, false)));
    for (auto* norm : {&branches.left_norm, &branches.right_norm}) (*norm)->eval();
    EXPECT_TRUE(at::equal(branches.forward(x, true), branches.forward(x, false)));
  }
  at::globalContext().setDeterministicCuDNN(false);
}

// Gradients of the layers of Inception-V3, whose blocks have branches of all kinds, in fp32.
std::vector<at::Tensor> inception_gradients(const std::string& device, const at::Tensor& images,
                                            const at::Tensor& of_logits) {
  config::RunConfig config = test::world("fp32");
  config.model.name = "inception_v3";
  config.device = device;
  step::Session s = test::session(config);
  // The network itself evaluates, its blocks train: norms with the batch's statistics, but without
  // the classifier's dropout, which every device draws by itself.
  s.net->eval();
  for (const auto& child : s.net->children()) child->train();
  const at::Tensor logits = s.net->forward(images.to(s.device));
  logits.backward(of_logits.to(s.device));
  std::vector<at::Tensor> out;
  for (const nn::WeightLayer* layer : s.layers) {
    out.push_back(layer->weight.grad().cpu().to(at::kDouble));
  }
  return out;
}

// On a CPU its blocks end in a concat. A network without training multiplies the rounding of each
// layer: in plain PyTorch (whole width, batch 8) its gradients in fp32 are 0.015 to 0.019 of their
// length from those in fp64, and those in bf16 are 1.2 from those in fp32. So fp32, and a bound
// five times as large; a branch in the place of another one gives about 1.
TEST_F(GpuTest, InceptionsGradientsAreThoseOfACpu) {
  at::manual_seed(54);
  const at::Tensor images = at::randn({8, 3, 32, 32}), of_logits = at::randn({8, 10});
  const auto expected = inception_gradients("cpu", images, of_logits),
             found = inception_gradients("cuda", images, of_logits);
  ASSERT_EQ(expected.size(), found.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LE(test::distance(found[i], expected[i]), 0.1) << i;
  }
}

}  // namespace
}  // namespace adagp

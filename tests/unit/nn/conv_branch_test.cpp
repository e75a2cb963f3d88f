// A convolution that adds its part to the gradients which others have for its input.

#include "adagp/engine/nn/conv_branch.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace adagp::nn {
namespace {

at::Tensor random_map(at::IntArrayRef shape) {
  return at::randn(shape, at::kDouble).contiguous(at::MemoryFormat::ChannelsLast);
}

struct BranchProblem {
  at::Tensor leaf = random_map({2, 6, 3, 5}).requires_grad_();
  at::Tensor weight = random_map({4, 6, 1, 1}).requires_grad_();
  at::Tensor of_product = random_map({2, 4, 3, 5}), of_x = random_map({2, 6, 3, 5});
  at::Tensor x = leaf.clone();  // what a layer before it made
};

TEST(ConvBranch, HasTheSumOfBothGradients) {
  at::manual_seed(41);
  for (const bool uses_product : {true, false}) {
    for (const bool uses_x : {true, false}) {
      if (!uses_product && !uses_x) continue;
      BranchProblem p;
      const auto loss = [&](const at::Tensor& product, const at::Tensor& x) {
        at::Tensor sum = at::zeros({}, at::kDouble);
        if (uses_product) sum = sum + (product * p.of_product).sum();
        if (uses_x) sum = sum + (x * p.of_x).sum();
        return sum;
      };
      const ConvBranch branch = conv_branch(p.x, p.weight);
      EXPECT_TRUE(at::equal(branch.passed_on, p.x));
      EXPECT_TRUE(at::allclose(branch.product, at::conv2d(p.x, p.weight)));
      const at::Tensor of_leaf = torch::autograd::grad({loss(branch.product, branch.passed_on)},
                                                       {p.leaf, p.weight}, {}, {}, false, true)[0];
      const auto expected = torch::autograd::grad({loss(at::conv2d(p.leaf, p.weight), p.leaf)},
                                                  {p.leaf, p.weight}, {}, {}, false, true);
      EXPECT_TRUE(at::allclose(of_leaf, expected[0])) << uses_product << uses_x;

      const ConvBranch again = conv_branch(p.leaf.clone(), p.weight);
      const at::Tensor of_weight = torch::autograd::grad({loss(again.product, again.passed_on)},
                                                         {p.weight}, {}, {}, false, true)[0];
      EXPECT_EQ(of_weight.defined(), uses_product);
      if (uses_product) {
        EXPECT_TRUE(at::allclose(of_weight, expected[1]));
      }
    }
  }
}

// Where the gradients are that arrive for the passed on map and that leave for x.
struct BranchAddresses {
  const void *arrives = nullptr, *leaves = nullptr;
};
BranchAddresses addresses(BranchProblem& p, const std::function<void(const at::Tensor&)>& see) {
  BranchAddresses out;
  p.x.register_hook([&](const at::Tensor& g) { out.leaves = g.const_data_ptr(); });
  const ConvBranch branch = conv_branch(p.x, p.weight);
  branch.passed_on.register_hook([&](const at::Tensor& g) {
    out.arrives = g.const_data_ptr();
    see(g);
  });
  ((branch.product * p.of_product).sum() + (branch.passed_on * p.of_x).sum()).backward();
  return out;
}

TEST(ConvBranch, AddsInPlaceWhereNobodyElseReadsTheGradient) {
  at::manual_seed(42);
  BranchProblem p;
  const BranchAddresses found = addresses(p, [](const at::Tensor&) {});
  EXPECT_NE(found.arrives, nullptr);
  EXPECT_EQ(found.arrives, found.leaves) << "a map of its own, and a pass to add it";
}

TEST(ConvBranch, LeavesGradientsAloneThatOthersHold) {
  at::manual_seed(43);
  for (const bool view : {false, true}) {
    BranchProblem p;
    at::Tensor held, before;
    const BranchAddresses found = addresses(p, [&](const at::Tensor& g) {
      held = view ? g.narrow(0, 1, 1) : g;
      before = held.clone();
    });
    EXPECT_NE(found.arrives, found.leaves);
    EXPECT_TRUE(at::equal(held, before));
    const at::Tensor expected =
        p.of_x + at::conv2d(p.of_product, p.weight.detach().transpose(0, 1));
    EXPECT_TRUE(at::allclose(p.leaf.grad(), expected));
  }
}

TEST(ConvBranch, IsForGpusAndBf16) {
  const Conv2d layer(conv(6, 4, 1, 1, 0, false));
  const at::Tensor x = random_map({1, 6, 2, 2}).to(at::kBFloat16).requires_grad_();
  EXPECT_FALSE(fits_conv_branch(layer->info(), x, layer->weight.to(at::kBFloat16)));
  // Then it is the layer's own product, and x stays what it was.
  at::Tensor shared = x.to(at::kFloat);
  const at::Tensor same = shared;
  EXPECT_TRUE(at::equal(Conv2d(layer)->shared_product(shared), Conv2d(layer)->product(same)));
  EXPECT_TRUE(shared.is_same(same));
}

}  // namespace
}  // namespace adagp::nn

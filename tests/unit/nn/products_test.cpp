// Are convolutions the same whichever memory layout computes them?

#include "adagp/engine/nn/products.h"

#include <cmath>

#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/engine/nn/layout_search.h"

namespace adagp::nn {
namespace {

// Strides, groups, depthwise, 1x1 (whose layouts are the same memory), maps of one pixel, dilation,
// padding beyond the usual, sides that differ.
const std::vector<ConvolutionShape>& test_shapes() {
  static const std::vector<ConvolutionShape> all{
      {3, 9, 9, 8, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
      {16, 4, 4, 32, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
      {16, 8, 6, 24, {3, 3}, {2, 1}, {1, 1}, {1, 1}, 2},
      {16, 7, 7, 16, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 16},
      {16, 7, 7, 32, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 16},
      {16, 5, 5, 24, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
      {16, 6, 6, 8, {1, 1}, {2, 2}, {0, 0}, {1, 1}, 1},
      {16, 1, 1, 8, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
      {8, 9, 9, 8, {3, 3}, {1, 1}, {2, 2}, {2, 2}, 1},
      {8, 6, 8, 8, {5, 1}, {1, 1}, {3, 0}, {1, 1}, 1},
      {1, 8, 8, 4, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
  };
  return all;
}

at::Tensor in_last_order(const at::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}

struct PassResult {
  at::Tensor y, dx, dw, db;
};

// One forward and backward pass by autograd.
PassResult one_pass(const LayerInfo& info, const at::Tensor& x, const at::Tensor& w,
                    const at::Tensor& b, const at::Tensor& dy) {
  const at::Tensor in = x.detach().requires_grad_(), weight = w.detach().requires_grad_(),
                   bias = b.detach().requires_grad_();
  const at::Tensor y = differentiable_product(info, in, weight, bias);
  y.backward(dy);
  return {y.detach(), in.grad(), weight.grad(), bias.grad()};
}

// The largest error over what n roundings of the summands' absolute values may add up to.
double over_bound(const at::Tensor& got, const at::Tensor& exact, const at::Tensor& absolute,
                  int64_t summands) {
  const double unit = std::ldexp(1.0, -24);
  const at::Tensor allowed = absolute * (static_cast<double>(summands) * unit) + 1e-12;
  return ((got.to(at::kDouble) - exact).abs() / allowed).max().item<double>();
}

LayoutTable choice_table(const ConvolutionShape& shape, unsigned bits) {
  LayoutChoices choices{};
  for (const Product product : kProducts) {
    const bool other = ((bits >> index_of(product)) & 1U) != 0;
    choices[index_of(product)].chosen = other ? Layout::kContiguous : Layout::kChannelsLast;
  }
  LayoutTable table;
  table.add(shape, choices);
  return table;
}

TEST(Products, EveryChoiceOfLayoutsIsRightWithinRoundingErrors) {
  at::manual_seed(3);
  for (const ConvolutionShape& shape : test_shapes()) {
    LayerInfo info = info_for(shape);
    const at::Tensor x = in_last_order(at::randn({5, shape.in, shape.height, shape.width}));
    const at::Tensor w = in_last_order(
        at::randn({shape.out, shape.in / shape.groups, shape.kernel[0], shape.kernel[1]}));
    const at::Tensor b = at::randn({shape.out});
    const PassResult plain = one_pass(info, x, w, b, at::ones_like(product(info, x, w, b)));
    const at::Tensor dy = in_last_order(at::randn_like(plain.y));
    const auto exact = [&](bool absolute) {
      const auto wide = [&](const at::Tensor& t) {
        return absolute ? t.to(at::kDouble).abs() : t.to(at::kDouble);
      };
      return one_pass(info, wide(x), wide(w), wide(b), wide(dy));
    };
    const PassResult right = exact(false), sums = exact(true);
    const PassResult usual = one_pass(info, x, w, b, dy);
    const int64_t positions = dy.numel() / shape.out;
    const int64_t taps = shape.kernel[0] * shape.kernel[1];
    for (unsigned bits = 0; bits < 8; ++bits) {
      SCOPED_TRACE(describe(shape) + ", choice " + std::to_string(bits));
      info.layouts = std::make_shared<LayoutTable>(choice_table(shape, bits));
      const PassResult got = one_pass(info, x, w, b, dy);
      EXPECT_LE(over_bound(got.y, right.y, sums.y, shape.in / shape.groups * taps + 1), 1);
      EXPECT_LE(over_bound(got.dx, right.dx, sums.dx, shape.out / shape.groups * taps), 1);
      EXPECT_LE(over_bound(got.dw, right.dw, sums.dw, positions), 1);
      EXPECT_LE(over_bound(got.db, right.db, sums.db, positions), 1);
      // What comes after the layer sees the memory order that it sees without a choice. (Both are
      // right for one channel, where LibTorch does not answer in channels-last.)
      const auto last_order = at::MemoryFormat::ChannelsLast;
      EXPECT_GE(got.y.is_contiguous(last_order), usual.y.is_contiguous(last_order));
      EXPECT_GE(got.dx.is_contiguous(last_order), usual.dx.is_contiguous(last_order));
      EXPECT_EQ(got.dw.strides(), (bits & 4U) != 0 ? w.strides() : usual.dw.strides());
      if (bits != 0) continue;
      EXPECT_TRUE(at::equal(got.y, usual.y) && at::equal(got.dx, usual.dx) &&
                  at::equal(got.dw, usual.dw) && at::equal(got.db, usual.db));
    }
    info.layouts = nullptr;
  }
}

// The operands of convolutions that LibTorch is asked for.
struct Operands {
  std::vector<std::pair<std::string, bool>> seen;  // operation, all in contiguous memory
};
thread_local Operands* watched = nullptr;

std::unique_ptr<at::ObserverContext> note_operands(const at::RecordFunction& function) {
  const std::string name = function.name();
  if (watched == nullptr || (name != "aten::conv2d" && name != "aten::convolution_backward")) {
    return nullptr;
  }
  bool contiguous = true;
  const size_t tensors = name == "aten::conv2d" ? 2 : 3;
  for (size_t i = 0; i < tensors; ++i) {
    contiguous = contiguous && function.inputs()[i].toTensor().is_contiguous();
  }
  watched->seen.emplace_back(name, contiguous);
  return nullptr;
}

TEST(Products, TheTableSaysWhichProductIsComputedInContiguousMemory) {
  at::manual_seed(4);
  const ConvolutionShape shape{16, 4, 4, 32, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1};
  LayerInfo info = info_for(shape);
  const at::Tensor x = in_last_order(at::randn({2, 16, 4, 4})),
                   w = in_last_order(at::randn({32, 16, 3, 3})), b = at::randn({32});
  using Seen = std::vector<std::pair<std::string, bool>>;
  const std::string forward = "aten::conv2d", backward = "aten::convolution_backward";
  const auto seen = [&](const at::Tensor& input) {
    Operands operands;
    watched = &operands;
    const auto handle =
        at::addThreadLocalCallback(at::RecordFunctionCallback(note_operands).needsInputs(true));
    one_pass(info, input, w, b, in_last_order(at::ones({input.size(0), 32, 4, 4})));
    at::removeCallback(handle);
    watched = nullptr;
    return operands.seen;
  };
  // Bits: forward, input gradient, weight gradient.
  info.layouts = std::make_shared<LayoutTable>(choice_table(shape, 0b001));
  EXPECT_EQ(seen(x), (Seen{{forward, true}, {backward, false}}));
  info.layouts = std::make_shared<LayoutTable>(choice_table(shape, 0b010));
  EXPECT_EQ(seen(x), (Seen{{forward, false}, {backward, false}, {backward, true}}));
  info.layouts = std::make_shared<LayoutTable>(choice_table(shape, 0b111));
  EXPECT_EQ(seen(x), (Seen{{forward, true}, {backward, true}}));
  // Another number of examples has the same choice, another map that of shapes not in the table.
  EXPECT_EQ(seen(in_last_order(at::randn({3, 16, 4, 4}))),
            (Seen{{forward, true}, {backward, true}}));
  info.layouts = std::make_shared<LayoutTable>(choice_table({16, 8, 8, 32}, 0b111));
  EXPECT_EQ(seen(x), (Seen{{forward, false}, {backward, false}}));
  info.layouts = std::make_shared<LayoutTable>(Layout::kContiguous);
  EXPECT_EQ(seen(x), (Seen{{forward, true}, {backward, true}}));
}

TEST(Products, SecondDerivativesPassThroughEveryLayout) {
  at::manual_seed(5);
  const ConvolutionShape shape{4, 5, 5, 6, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1};
  const at::Tensor x = in_last_order(at::randn({2, 4, 5, 5}, at::kDouble)),
                   w = in_last_order(at::randn({6, 4, 3, 3}, at::kDouble));
  std::vector<at::Tensor> found;
  for (const unsigned bits : {0U, 7U}) {
    LayerInfo info = info_for(shape);
    if (bits != 0) info.layouts = std::make_shared<LayoutTable>(choice_table(shape, bits));
    const at::Tensor in = x.clone().requires_grad_(), weight = w.clone().requires_grad_();
    const at::Tensor y = differentiable_product(info, in, weight, {});
    const at::Tensor gradient = torch::autograd::grad({(y * y * y).sum()}, {in}, {}, true, true)[0];
    (gradient * gradient).sum().backward();
    found.push_back(weight.grad());
  }
  EXPECT_TRUE(at::allclose(found[0], found[1], 1e-10, 1e-10));
}

TEST(LayoutSearch, TakesAnotherLayoutOnlyForAGain) {
  EXPECT_EQ(fastest_layout({100, 94}), Layout::kContiguous);
  EXPECT_EQ(fastest_layout({100, 96}), Layout::kChannelsLast);
  EXPECT_EQ(fastest_layout({100, 200}), Layout::kChannelsLast);
}

TEST(LayoutSearch, MeasuresEveryProductAndDrawsNoRandomNumbers) {
  at::manual_seed(6);
  const at::Tensor expected = at::randn({4});
  at::manual_seed(6);
  const LayoutChoices found = search_layouts({8, 4, 4, 16, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 2}, 3);
  EXPECT_TRUE(at::equal(at::randn({4}), expected));
  for (const LayoutChoice& choice : found) {
    for (const double ms : choice.ms) EXPECT_GT(ms, 0);
    EXPECT_EQ(choice.chosen, fastest_layout(choice.ms));
  }
}

}  // namespace
}  // namespace adagp::nn

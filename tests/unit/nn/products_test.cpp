// Are convolutions the same whichever memory layout computes them?

#include "adagp/engine/nn/products.h"

#include <cmath>

#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/autograd.h>

namespace adagp::nn {
namespace {

struct ConvCase {
  LayerInfo info;
  int64_t height, width;
};

ConvCase conv_case(int64_t in, std::array<int64_t, 2> size, int64_t out, int64_t kernel,
                   int64_t stride = 1, int64_t padding = 1, int64_t groups = 1) {
  LayerInfo info;
  info.in = in;
  info.out = out;
  info.kernel = {kernel, kernel};
  info.stride = {stride, stride};
  info.padding = {padding, padding};
  info.groups = groups;
  return {info, size[0], size[1]};
}

// Strides, groups, depthwise, 1x1 (whose layouts are the same memory), maps of one pixel, dilation,
// padding beyond the usual, sides that differ.
std::vector<ConvCase> conv_cases() {
  ConvCase uneven = conv_case(16, {8, 6}, 24, 3, 1, 1, 2), dilated = conv_case(8, {9, 9}, 8, 3),
           tall = conv_case(8, {6, 8}, 8, 5);
  uneven.info.stride = {2, 1};
  dilated.info.padding = dilated.info.dilation = {2, 2};
  tall.info.kernel = {5, 1};
  tall.info.padding = {3, 0};
  return {uneven,
          dilated,
          tall,
          conv_case(3, {9, 9}, 8, 3),
          conv_case(16, {4, 4}, 32, 3),
          conv_case(16, {7, 7}, 16, 3, 1, 1, 16),
          conv_case(16, {7, 7}, 32, 3, 2, 1, 16),
          conv_case(16, {5, 5}, 24, 1, 1, 0),
          conv_case(16, {6, 6}, 8, 1, 2, 0),
          conv_case(16, {1, 1}, 8, 3),
          conv_case(1, {8, 8}, 4, 3)};
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

TEST(Products, ContiguousMemoryIsRightWithinRoundingErrors) {
  at::manual_seed(3);
  size_t number = 0;
  for (const ConvCase& one : conv_cases()) {
    SCOPED_TRACE("case " + std::to_string(number++));
    const LayerInfo& info = one.info;
    const at::Tensor x = in_last_order(at::randn({5, info.in, one.height, one.width}));
    const at::Tensor w =
        in_last_order(at::randn({info.out, info.in / info.groups, info.kernel[0], info.kernel[1]}));
    const at::Tensor b = at::randn({info.out});
    const at::Tensor dy = in_last_order(at::randn_like(product(info, x, w, b)));
    const auto exact = [&](bool absolute) {
      const auto wide = [&](const at::Tensor& t) {
        return absolute ? t.to(at::kDouble).abs() : t.to(at::kDouble);
      };
      return one_pass(info, wide(x), wide(w), wide(b), wide(dy));
    };
    const PassResult right = exact(false), sums = exact(true);
    const PassResult usual = one_pass(info, x, w, b, dy);
    LayerInfo contiguous = info;
    contiguous.contiguous = true;
    const PassResult got = one_pass(contiguous, x, w, b, dy);
    const int64_t positions = dy.numel() / info.out;
    const int64_t taps = info.kernel[0] * info.kernel[1];
    EXPECT_LE(over_bound(got.y, right.y, sums.y, info.in / info.groups * taps + 1), 1);
    EXPECT_LE(over_bound(got.dx, right.dx, sums.dx, info.out / info.groups * taps), 1);
    EXPECT_LE(over_bound(got.dw, right.dw, sums.dw, positions), 1);
    EXPECT_LE(over_bound(got.db, right.db, sums.db, positions), 1);
    // What comes after the layer sees the usual memory order. (Both are right for one channel,
    // where LibTorch does not answer in channels-last.)
    const auto last_order = at::MemoryFormat::ChannelsLast;
    EXPECT_GE(got.y.is_contiguous(last_order), usual.y.is_contiguous(last_order));
    EXPECT_GE(got.dx.is_contiguous(last_order), usual.dx.is_contiguous(last_order));
    EXPECT_EQ(got.dw.strides(), w.strides());
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

TEST(Products, LibTorchSeesTheOperandsInTheMemoryThatIsAskedFor) {
  at::manual_seed(4);
  LayerInfo info = conv_case(16, {4, 4}, 32, 3).info;
  const at::Tensor x = in_last_order(at::randn({2, 16, 4, 4})),
                   w = in_last_order(at::randn({32, 16, 3, 3})), b = at::randn({32}),
                   dy = in_last_order(at::ones({2, 32, 4, 4}));
  for (const bool contiguous : {false, true}) {
    info.contiguous = contiguous;
    Operands operands;
    watched = &operands;
    const auto handle =
        at::addThreadLocalCallback(at::RecordFunctionCallback(note_operands).needsInputs(true));
    one_pass(info, x, w, b, dy);
    at::removeCallback(handle);
    watched = nullptr;
    EXPECT_EQ(operands.seen,
              (std::vector<std::pair<std::string, bool>>{
                  {"aten::conv2d", contiguous}, {"aten::convolution_backward", contiguous}}));
  }
}

TEST(Products, GradientsThatNobodyWantsAreUndefined) {
  LayerInfo info = conv_case(16, {4, 4}, 32, 3).info;
  const at::Tensor x = in_last_order(at::randn({2, 16, 4, 4})),
                   w = in_last_order(at::randn({32, 16, 3, 3})),
                   dy = in_last_order(at::ones({2, 32, 4, 4}));
  for (const bool contiguous : {false, true}) {
    info.contiguous = contiguous;
    for (unsigned bits = 0; bits < 8; ++bits) {
      const std::array<bool, 3> wanted{(bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0};
      const Gradients found = gradients_of(info, dy, x, w, wanted);
      for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(found[i].defined(), wanted[i]) << bits;
    }
  }
}

TEST(Products, SecondDerivativesPassThroughEveryLayout) {
  at::manual_seed(5);
  LayerInfo info = conv_case(4, {5, 5}, 6, 3).info;
  const at::Tensor x = in_last_order(at::randn({2, 4, 5, 5}, at::kDouble)),
                   w = in_last_order(at::randn({6, 4, 3, 3}, at::kDouble));
  std::vector<at::Tensor> found;
  for (const bool contiguous : {false, true}) {
    info.contiguous = contiguous;
    const at::Tensor in = x.clone().requires_grad_(), weight = w.clone().requires_grad_();
    const at::Tensor y = differentiable_product(info, in, weight, {});
    const at::Tensor gradient = torch::autograd::grad({(y * y * y).sum()}, {in}, {}, true, true)[0];
    (gradient * gradient).sum().backward();
    found.push_back(weight.grad());
  }
  EXPECT_TRUE(at::allclose(found[0], found[1], 1e-10, 1e-10));
}

}  // namespace
}  // namespace adagp::nn

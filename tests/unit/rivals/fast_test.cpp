// Are products in block floating point those of rounded operands, and their gradients too?

#include <set>

#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include "adagp/rivals/nn/fast.h"
#include "unit/with_rivals.h"

namespace adagp::nn {
namespace {

FastLayer fast_layer(int32_t w, int32_t a, int32_t g, bool regroup = true,
                     cuda::Rounding rounding = cuda::Rounding::kNearest) {
  FastLayer layer;
  layer.shared = std::make_shared<FastShared>();
  layer.shared->of_gradients = rounding;
  layer.shared->of_others = rounding;
  layer.shared->regroup = regroup;
  layer.shared->seed = at::zeros({1}, at::kLong);
  layer.widths = at::tensor({w, a, g}, at::kInt);
  return layer;
}

// The same rounding by ATen's operations: groups of 16 along the last axis, to nearest.
at::Tensor rounded_last(const at::Tensor& x, int bits) {
  const int64_t length = x.size(-1), groups = (length + 15) / 16;
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = groups;
  shape.push_back(16);
  const at::Tensor grouped =
      at::constant_pad_nd(x.to(at::kDouble), {0, 16 * groups - length}).reshape(shape);
  const at::Tensor most = grouped.abs().amax(-1, true).clamp_min(1e-30);
  const at::Tensor quantum = at::exp2(at::floor(at::log2(most)) - (bits - 1));
  const at::Tensor count = at::floor(grouped.abs() / quantum + 0.5).clamp_max((1 << bits) - 1);
  shape.pop_back();
  shape.back() = 16 * groups;
  return (count * quantum * grouped.sign()).reshape(shape).slice(-1, 0, length);
}
at::Tensor rounded(const at::Tensor& x, int64_t axis, int bits) {
  return rounded_last(x.movedim(axis, -1).contiguous(), bits).movedim(-1, axis);
}
// All positions of [N, C, H, W] as one axis, in the order of the memory.
at::Tensor rounded_positions(const at::Tensor& x, int bits) {
  const at::Tensor rows = x.permute({0, 2, 3, 1});
  return rounded(rows.reshape({-1, x.size(1)}), 0, bits)
      .reshape(rows.sizes())
      .permute({0, 3, 1, 2});
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return ((a.to(at::kDouble) - b.to(at::kDouble)).norm() / b.to(at::kDouble).norm()).item<double>();
}

constexpr double kSums = 2e-6;  // of some hundred products in fp32

struct Result {
  at::Tensor y, dx, dw, db;
};

Result run(const FastLayer& layer, const LayerInfo& info, at::Tensor x, at::Tensor w, at::Tensor b,
           const at::Tensor& dy) {
  x = x.clone().requires_grad_();
  w = w.clone().requires_grad_();
  b = b.clone().requires_grad_();
  const at::Tensor y = fast_product(layer, info, x, w, b);
  y.backward(dy);
  return {y.detach(), x.grad(), w.grad(), b.grad()};
}

TEST(Fast, LinearProductsAreThoseOfRoundedOperands) {
  at::manual_seed(1);
  LayerInfo info;
  info.kind = LayerKind::kLinear;
  info.in = 37;
  info.out = 21;
  const at::Tensor x = at::randn({5, 7, 37}), w = at::randn({21, 37}), b = at::randn({21});
  const at::Tensor dy = at::randn({5, 7, 21});
  const at::Tensor rows = x.reshape({-1, 37}), of_rows = dy.reshape({-1, 21});
  const Result got = run(fast_layer(2, 3, 4), info, x, w, b, dy);
  const at::Tensor y = rounded_last(rows, 3).mm(rounded_last(w, 2).t()) + b;
  EXPECT_LT(distance(got.y.reshape({-1, 21}), y), kSums);
  EXPECT_LT(distance(got.dx.reshape({-1, 37}), rounded_last(of_rows, 4).mm(rounded(w, 0, 2))),
            kSums);
  EXPECT_LT(distance(got.dw, rounded(of_rows, 0, 4).t().mm(rounded(rows, 0, 3))), kSums);
  EXPECT_LT(distance(got.db, of_rows.sum(0)), kSums);

  const Result once = run(fast_layer(2, 3, 4, false), info, x, w, b, dy);
  EXPECT_LT(distance(once.dx.reshape({-1, 37}), rounded_last(of_rows, 4).mm(rounded_last(w, 2))),
            kSums);
  EXPECT_LT(distance(once.dw, rounded_last(of_rows, 4).t().mm(rounded_last(rows, 3))), kSums);
}

TEST(Fast, ConvolutionsAreThoseOfRoundedOperands) {
  at::manual_seed(2);
  for (const int64_t groups : {1, 2, 18}) {
    LayerInfo info;
    info.in = 36;
    info.out = 54;
    info.kernel = {3, 3};
    info.stride = {2, 1};
    info.padding = {1, 1};
    info.groups = groups;
    const auto last = [](const at::Tensor& t) {
      return t.contiguous(at::MemoryFormat::ChannelsLast);
    };
    const at::Tensor x = last(at::randn({2, 36, 7, 6}));
    const at::Tensor w = last(at::randn({54, 36 / groups, 3, 3})), b = at::randn({54});
    const at::Tensor dy = at::randn({2, 54, 4, 6});
    const Result got = run(fast_layer(3, 2, 4), info, x, w, b, dy);
    // Channels and filters of every group of the convolution by themselves.
    const auto by_group = [&](const at::Tensor& t, int64_t axis, int bits) {
      std::vector<at::Tensor> parts;
      for (const at::Tensor& part : t.chunk(groups, axis)) {
        parts.push_back(rounded(part, axis, bits));
      }
      return at::cat(parts, axis);
    };
    const auto conv = [&](const at::Tensor& input, const at::Tensor& weight) {
      return at::conv2d(input, weight, {}, info.stride, info.padding, info.dilation, groups);
    };
    const at::Tensor y = conv(by_group(x, 1, 2), rounded(w, 1, 3)) + b.view({1, -1, 1, 1});
    EXPECT_LT(distance(got.y, y), kSums) << groups;
    // Gradients of the bilinear product at rounded operands, by autograd.
    const auto gradients = [&](const at::Tensor& input, const at::Tensor& weight,
                               const at::Tensor& gradient) {
      const at::Tensor a = input.clone().requires_grad_(), v = weight.clone().requires_grad_();
      conv(a, v).backward(gradient);
      return std::pair{a.grad(), v.grad()};
    };
    EXPECT_LT(
        distance(got.dx, gradients(x.to(at::kDouble), by_group(w, 0, 3), by_group(dy, 1, 4)).first),
        kSums)
        << groups;
    EXPECT_LT(
        distance(
            got.dw,
            gradients(rounded_positions(x, 2), w.to(at::kDouble), rounded_positions(dy, 4)).second),
        kSums)
        << groups;
  }
}

// How many types the gradient, the input and the weight have in calls of convolution_backward: ATen
// takes several on a CPU, but one alone on a GPU.
size_t most_types = 0;
std::unique_ptr<at::ObserverContext> count_types(const at::RecordFunction& call) {
  if (std::string_view(call.name()) != "aten::convolution_backward") return nullptr;
  std::set<at::ScalarType> types;
  for (size_t i = 0; i < 3; ++i) types.insert(call.inputs()[i].toTensor().scalar_type());
  most_types = std::max(most_types, types.size());
  return nullptr;
}

// On a GPU the products of few bits are made in bf16 from weights in fp32: operands of up to eight
// bits are exact there, so that the sums alone are rounded.
TEST(Fast, ProductsInBf16DifferByTheRoundingOfTheirSums) {
  at::manual_seed(5);
  LayerInfo convolution, linear;
  convolution.in = 20;
  convolution.out = 24;
  convolution.kernel = {3, 3};
  convolution.padding = {1, 1};
  linear.kind = LayerKind::kLinear;
  linear.in = 20;
  linear.out = 24;
  most_types = 0;
  const auto counting =
      at::addGlobalCallback(at::RecordFunctionCallback(count_types).needsInputs(true));
  for (const bool regroup : {true, false}) {
    for (const LayerInfo& info : {convolution, linear}) {
      const bool flat = info.kind == LayerKind::kLinear;
      const at::Tensor x = flat ? at::randn({6, 20}) : at::randn({2, 20, 5, 4});
      const at::Tensor w = flat ? at::randn({24, 20}) : at::randn({24, 20, 3, 3});
      const at::Tensor b = at::randn({24});
      const at::Tensor dy =
          (flat ? at::randn({6, 24}) : at::randn({2, 24, 5, 4})).to(at::kBFloat16);
      FastLayer layer = fast_layer(2, 3, 4, regroup);
      const Result exact = run(layer, info, x, w, b, dy.to(at::kFloat));
      layer.shared->bf16 = true;
      const Result got = run(layer, info, x, w, b, dy);
      EXPECT_EQ(got.y.scalar_type(), at::kBFloat16);
      EXPECT_EQ(got.dx.scalar_type(), at::kFloat);
      EXPECT_EQ(got.dw.scalar_type(), at::kFloat);
      constexpr double kBf16 = 4e-3;  // half of its last place
      EXPECT_LT(distance(got.y, exact.y), kBf16);
      EXPECT_LT(distance(got.dx, exact.dx), kBf16);
      EXPECT_LT(distance(got.dw, exact.dw), kBf16);
      EXPECT_LT(distance(got.db, exact.db), kBf16);
    }
  }
  at::removeCallback(counting);
  EXPECT_EQ(most_types, 1U);
}

TEST(Fast, ManyBitsAreTheProductItself) {
  at::manual_seed(3);
  Conv2d plain(conv(20, 30, 3, 1, 1)), fast(conv(20, 30, 3, 1, 1));
  {
    const at::NoGradGuard no_grad;
    fast->weight.copy_(plain->weight);
    fast->bias.copy_(plain->bias);
  }
  fast->rule = std::make_shared<FastLayer>(fast_layer(24, 24, 24, true, cuda::Rounding::kTruncate));
  const at::Tensor x = at::randn({2, 20, 5, 5});
  const at::Tensor a = plain->forward(x), b = fast->forward(x);
  EXPECT_LT(distance(b, a), kSums);
  a.square().sum().backward();
  b.square().sum().backward();
  EXPECT_LT(distance(fast->weight.grad(), plain->weight.grad()), kSums);
  EXPECT_LT(distance(fast->bias.grad(), plain->bias.grad()), kSums);
}

TEST(Fast, TwoStochasticProductsDrawOtherNumbersAndTheSameSeedTheSame) {
  at::manual_seed(4);
  LayerInfo info;
  info.kind = LayerKind::kLinear;
  info.in = 16;
  info.out = 64;
  const FastLayer layer = fast_layer(0, 0, 2, true, cuda::Rounding::kStochastic);
  const at::Tensor x = at::eye(16), w = at::randn({64, 16}), b = at::zeros({64});
  const at::Tensor dy = at::randn({16, 64});
  const Result first = run(layer, info, x, w, b, dy), second = run(layer, info, x, w, b, dy);
  EXPECT_FALSE(at::equal(first.dw, second.dw));
  layer.shared->products = 0;
  const Result again = run(layer, info, x, w, b, dy);
  EXPECT_TRUE(at::equal(first.dw, again.dw));
  EXPECT_TRUE(at::equal(first.dx, again.dx));
}

}  // namespace
}  // namespace adagp::nn

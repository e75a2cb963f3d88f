// The norm kernels' references against ATen and its autograd, on the CPU.

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <cmath>
#include <initializer_list>

#include "adagp/gpu/cuda/norm/norm.h"

namespace adagp::cuda {
namespace {

// Memory order [B, H, W, C], as the references read it.
at::Tensor channels_last(const at::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}
Map map_of(const at::Tensor& x) {
  return {x.size(0), x.size(2), x.size(3), x.size(1)};
}
float* floats(const at::Tensor& x) {
  return x.mutable_data_ptr<float>();
}
at::Tensor row(const at::Tensor& per_channel) {
  return per_channel.view({1, -1, 1, 1});
}

// Both sides compute in float or better; ATen's sums in float differ by a few ulp of the largest.
void expect_near(const at::Tensor& got, const at::Tensor& expected, const char* what,
                 double tolerance = 1e-5) {
  ASSERT_EQ(got.sizes(), expected.sizes()) << what;
  const double largest = expected.abs().max().item<double>();
  EXPECT_LE((got - expected).abs().max().item<double>(), tolerance * std::max(largest, 1e-30))
      << what;
}

struct Norm {
  explicit Norm(int64_t channels)
      : weight(at::rand({channels}) + 0.5),
        bias(at::randn({channels})),
        conv_bias(at::randn({channels})),
        running_mean(at::randn({channels})),
        running_var(at::rand({channels}) + 0.5),
        mean(at::zeros({channels})),
        inv_std(at::zeros({channels})),
        scale(at::zeros({channels})),
        shift(at::zeros({channels})) {}

  StatsArgs stats(const at::Tensor& x) {
    StatsArgs a;
    a.x = x.data_ptr(), a.map = map_of(x);
    a.weight = floats(weight), a.bias = floats(bias), a.conv_bias = floats(conv_bias);
    a.running_mean = floats(running_mean), a.running_var = floats(running_var);
    a.batches = &batches;
    a.mean = floats(mean), a.inv_std = floats(inv_std);
    a.scale = floats(scale), a.shift = floats(shift);
    return a;
  }

  at::Tensor weight, bias, conv_bias, running_mean, running_var;
  at::Tensor mean, inv_std, scale, shift;
  int64_t batches = 7;
};

at::Tensor summary_of(const at::Tensor& x, int64_t size) {
  return at::adaptive_avg_pool2d(x.mean(0).unsqueeze(1), {size, size}).flatten(1);
}

TEST(NormReference, StatisticsAndSummaryEqualAten) {
  torch::manual_seed(1);
  for (const int64_t side : {1, 2, 4, 5, 7, 8, 14, 16, 28, 32}) {
    SCOPED_TRACE(side);
    const auto x = channels_last(at::randn({5, 6, side, side}) * 2 + 0.5);
    Norm norm(6);
    auto rm = norm.running_mean.clone(), rv = norm.running_var.clone();
    const auto whole = x + row(norm.conv_bias);
    const auto expected =
        at::batch_norm(whole, norm.weight, norm.bias, rm, rv, true, 0.1, 1e-5, false);

    const at::Tensor summary = at::zeros({6, 64});
    StatsArgs args = norm.stats(x);
    args.summary = floats(summary);
    reference::norm_stats(args);

    expect_near(x * row(norm.scale) + row(norm.shift), expected, "y");
    expect_near(norm.running_mean, rm, "running_mean");
    expect_near(norm.running_var, rv, "running_var");
    EXPECT_EQ(norm.batches, 8);
    expect_near(norm.mean, x.mean({0, 2, 3}), "mean");
    expect_near(norm.inv_std, (x.var({0, 2, 3}, false) + 1e-5).rsqrt(), "inv_std");
    expect_near(summary, summary_of(whole, 8), "summary");
  }
}

// Channels that are appended to a wider map: a norm of them later is the norm of them at once.
TEST(NormReference, AppendedChannelsHaveTheirCopyAndStatistics) {
  torch::manual_seed(9);
  const auto x = channels_last(at::randn({5, 6, 4, 3}) * 2 + 0.5);
  const auto wide = channels_last(at::randn({5, 16, 4, 3})), before = wide.clone();
  const at::Tensor mean = at::zeros({6}), variance = at::zeros({6}), summary = at::zeros({6, 64});
  const at::Tensor slice = wide.narrow(1, 7, 6);
  StatsArgs args;
  args.x = x.data_ptr(), args.map = map_of(x);
  args.copy = slice.data_ptr(), args.copy_pitch = 16;
  args.mean = floats(mean), args.variance = floats(variance), args.summary = floats(summary);
  reference::norm_stats(args);
  expect_near(mean, x.mean({0, 2, 3}), "mean");
  expect_near(variance, x.var({0, 2, 3}, false), "variance");
  expect_near(summary, summary_of(x, 8), "summary");
  EXPECT_TRUE(at::equal(slice, x));
  EXPECT_TRUE(at::equal(wide.narrow(1, 0, 7), before.narrow(1, 0, 7)));
  EXPECT_TRUE(at::equal(wide.narrow(1, 13, 3), before.narrow(1, 13, 3)));

  Norm later(6);
  auto rm = later.running_mean.clone(), rv = later.running_var.clone();
  const auto whole = x + row(later.conv_bias);
  const auto expected =
      at::batch_norm(whole, later.weight, later.bias, rm, rv, true, 0.1, 1e-5, false);
  const StatsArgs part = later.stats(x);
  reference::norm_moments({part, 6, 5 * 4 * 3, floats(mean), floats(variance)});
  expect_near(x * row(later.scale) + row(later.shift), expected, "y");
  expect_near(later.running_mean, rm, "running_mean");
  expect_near(later.running_var, rv, "running_var");
  EXPECT_EQ(later.batches, 8);
}

TEST(NormReference, RectanglesAndOtherSizes) {
  torch::manual_seed(2);
  for (const int size : {1, 3, 8, 16}) {
    const auto x = channels_last(at::randn({3, 4, 9, 21}));
    const at::Tensor summary = at::zeros({4, size * size});
    StatsArgs args;
    args.x = x.data_ptr(), args.map = map_of(x), args.size = size;
    args.summary = floats(summary);
    reference::norm_stats(args);
    expect_near(summary, summary_of(x, size), "summary");
  }
}

// Tokens [B, T, C] are a map of Tx1; a linear layer's output [B, C] of 1x1.
TEST(NormReference, SummaryOfTokensAndRows) {
  torch::manual_seed(3);
  for (const int64_t tokens : {1, 5, 64, 197}) {
    const auto x = at::randn({4, tokens, 6});
    const at::Tensor summary = at::zeros({6, 64});
    StatsArgs args;
    args.x = x.data_ptr(), args.map = {4, tokens, 1, 6};
    args.summary = floats(summary);
    reference::norm_stats(args);
    const auto planes = x.mean(0).t().reshape({6, 1, tokens, 1});
    expect_near(summary, at::adaptive_avg_pool2d(planes, {8, 8}).flatten(1), "summary");
    if (tokens == 1)
      expect_near(summary, x.select(1, 0).mean(0).unsqueeze(1).expand({6, 64}), "rows");
  }
}

TEST(NormReference, SummaryOfSeveralUsesIsTheirMean) {
  torch::manual_seed(4);
  const at::Tensor summary = at::full({6, 64}, 1e9F);  // the first use forgets what was there
  at::Tensor sum = at::zeros({6, 64});
  for (int use = 1; use <= 3; ++use) {
    const auto x = channels_last(at::randn({5, 6, 7, 7}) + 1);
    StatsArgs args;
    args.x = x.data_ptr(), args.map = map_of(x), args.use = use;
    args.summary = floats(summary);
    reference::norm_stats(args);
    sum += summary_of(x, 8);
    expect_near(summary, sum / use, "summary");
  }
}

// One value per channel: torch's unbiased variance is 0/0, everything else is finite.
TEST(NormReference, OneValueIsNotANumberInTorchToo) {
  const auto x = channels_last(at::randn({1, 6, 1, 1}));
  Norm norm(6);
  norm.conv_bias.zero_();
  auto rm = norm.running_mean.clone(), rv = norm.running_var.clone();
  const auto expected = at::batch_norm(x, norm.weight, norm.bias, rm, rv, true, 0.1, 1e-5, false);
  reference::norm_stats(norm.stats(x));
  EXPECT_TRUE(rv.isnan().all().item<bool>());
  EXPECT_TRUE(norm.running_var.isnan().all().item<bool>());
  expect_near(norm.running_mean, rm, "running_mean");
  // x - mean is exactly 0 in torch; here shift cancels scale * x to a few ulp of it.
  expect_near(x * row(norm.scale) + row(norm.shift), expected, "y", 1e-3);
}

TEST(NormReference, EvalScaleEqualsAten) {
  torch::manual_seed(5);
  const auto x = channels_last(at::randn({3, 6, 4, 4}));
  Norm norm(6);
  EvalScaleArgs args;
  args.channels = 6;
  args.weight = floats(norm.weight), args.bias = floats(norm.bias);
  args.conv_bias = floats(norm.conv_bias);
  args.running_mean = floats(norm.running_mean), args.running_var = floats(norm.running_var);
  args.scale = floats(norm.scale), args.shift = floats(norm.shift);
  reference::eval_scale(args);
  const auto expected =
      at::batch_norm(x + row(norm.conv_bias), norm.weight, norm.bias, norm.running_mean,
                     norm.running_var, false, 0.1, 1e-5, false);
  expect_near(x * row(norm.scale) + row(norm.shift), expected, "y");
}

struct Mode {
  bool relu, residual, pool;
  float cap = kNoCap;
};
constexpr Mode kModes[] = {
    {false, false, false},      {true, false, false},      {false, true, false},
    {true, true, false},        {false, false, true},      {true, false, true},
    {true, false, false, 0.8F}, {true, true, false, 0.8F}, {true, false, true, 0.8F}};

// The same with ATen: of x + conv_bias.
at::Tensor forward(const Norm& norm, const at::Tensor& x, const at::Tensor& residual,
                   const Mode& mode) {
  at::Tensor y = at::batch_norm(x + row(norm.conv_bias), norm.weight, norm.bias, {}, {}, true, 0.1,
                                1e-5, false);
  if (mode.residual) y = y + residual;
  if (mode.relu) y = std::isnan(mode.cap) ? y.relu() : at::hardtanh(y, 0, mode.cap);
  if (mode.pool) y = at::max_pool2d(y, {2, 2});
  return y;
}

at::Tensor apply(const Norm& norm, const at::Tensor& x, const at::Tensor& residual,
                 const Mode& mode) {
  const int64_t side = x.size(2) / (mode.pool ? 2 : 1);
  const at::Tensor y = channels_last(at::zeros({x.size(0), x.size(1), side, side}, x.options()));
  ApplyArgs args;
  args.x = x.data_ptr(), args.map = map_of(x);
  args.type = x.scalar_type() == at::kFloat ? Type::kFloat : Type::kBFloat16;
  args.scale = floats(norm.scale), args.shift = floats(norm.shift);
  if (mode.residual) args.residual = residual.data_ptr();
  args.relu = mode.relu, args.cap = mode.cap, args.pool = mode.pool, args.y = y.data_ptr();
  reference::norm_apply(args);
  return y;
}

TEST(NormReference, ForwardAndGradientEqualAtens) {
  torch::manual_seed(6);
  for (const Mode& mode : kModes) {
    SCOPED_TRACE(testing::Message() << mode.relu << mode.residual << mode.pool << mode.cap);
    const at::Tensor values = channels_last(at::randn({4, 6, 8, 8}) + 0.3);
    const at::Tensor x = values.clone().requires_grad_();
    const at::Tensor residual = channels_last(at::randn({4, 6, 8, 8})).requires_grad_();
    Norm norm(6);
    norm.weight.requires_grad_(), norm.bias.requires_grad_();
    const at::Tensor expected = forward(norm, x, residual, mode);
    const at::Tensor dy = channels_last(at::randn_like(expected) + 0.2);
    expected.backward(dy);

    reference::norm_stats(norm.stats(values));
    const at::Tensor y = apply(norm, values, residual, mode);
    expect_near(y, expected.detach(), "y");

    const at::Tensor dx = at::zeros_like(values), dz = at::zeros_like(values);
    const at::Tensor dweight = at::zeros({6}), dbias = at::zeros({6});
    NormBackwardArgs args;
    args.x = values.data_ptr(), args.dy = dy.data_ptr(), args.map = map_of(values);
    args.relu = mode.relu, args.cap = mode.cap, args.pool = mode.pool;
    if (mode.residual) args.dz = dz.data_ptr(), args.y = y.data_ptr();
    args.mean = floats(norm.mean), args.inv_std = floats(norm.inv_std);
    args.scale = floats(norm.scale), args.shift = floats(norm.shift);
    args.dweight = floats(dweight), args.dbias = floats(dbias), args.dx = dx.data_ptr();
    reference::norm_backward(args);
    expect_near(dx, x.grad(), "dx");
    expect_near(dweight, norm.weight.grad(), "dweight");
    expect_near(dbias, norm.bias.grad(), "dbias");
    if (mode.residual) expect_near(dz, residual.grad(), "dz");
  }
}

// Channels 0 to 5 of a map of ten: what the references read is the part, and nothing beside it.
TEST(NormReference, PartOfAWiderMapEqualsItsCopy) {
  torch::manual_seed(8);
  const at::Tensor wide = channels_last(at::randn({3, 10, 4, 4})),
                   other = channels_last(at::randn({3, 9, 4, 4}));
  const at::Tensor copy = channels_last(wide.narrow(1, 0, 6));
  const at::Tensor dy = channels_last(at::randn({3, 6, 4, 4}));
  Norm dense(6), part(6);
  part.weight.copy_(dense.weight), part.bias.copy_(dense.bias);
  part.conv_bias.copy_(dense.conv_bias);
  part.running_mean.copy_(dense.running_mean), part.running_var.copy_(dense.running_var);
  StatsArgs stats = part.stats(copy);
  stats.x = wide.data_ptr(), stats.pitch = 10;
  const at::Tensor summary = at::zeros({6, 4}), expected_summary = at::zeros({6, 4});
  stats.summary = floats(summary), stats.size = 2;
  reference::norm_stats(stats);
  StatsArgs expected = dense.stats(copy);
  expected.summary = floats(expected_summary), expected.size = 2;
  reference::norm_stats(expected);
  EXPECT_TRUE(at::equal(part.scale, dense.scale));
  EXPECT_TRUE(at::equal(part.running_var, dense.running_var));
  EXPECT_TRUE(at::equal(summary, expected_summary));

  const at::Tensor y = at::zeros_like(copy);
  ApplyArgs apply_args;
  apply_args.x = wide.data_ptr(), apply_args.pitch = 10, apply_args.map = map_of(copy);
  apply_args.scale = floats(part.scale), apply_args.shift = floats(part.shift);
  apply_args.relu = true, apply_args.y = y.data_ptr();
  reference::norm_apply(apply_args);
  EXPECT_TRUE(at::equal(y, apply(dense, copy, {}, {true, false, false})));
  const at::Tensor into = at::full_like(wide, 7);
  apply_args.y = into.data_ptr(), apply_args.y_pitch = 10;
  reference::norm_apply(apply_args);
  EXPECT_TRUE(at::equal(into.narrow(1, 0, 6), y));
  EXPECT_TRUE(at::equal(into.narrow(1, 6, 4), at::full_like(into.narrow(1, 6, 4), 7)));

  const at::Tensor wide_dy = channels_last(at::cat({dy, other}, 1));
  const auto gradient = [&](bool pitched, bool plus) {
    const at::Tensor dx = at::zeros_like(copy), terms = at::zeros({2, 6});
    NormBackwardArgs a;
    a.x = pitched ? wide.data_ptr() : copy.data_ptr(), a.pitch = pitched ? 10 : 0;
    a.dy = dy.data_ptr(), a.map = map_of(copy), a.relu = true;
    if (pitched) a.dy = wide_dy.data_ptr(), a.dy_pitch = 15;
    a.mean = floats(dense.mean), a.inv_std = floats(dense.inv_std);
    a.scale = floats(dense.scale), a.shift = floats(dense.shift);
    a.dweight = floats(terms), a.dbias = floats(terms) + 6, a.dx = dx.data_ptr();
    if (plus) a.plus = other.data_ptr(), a.plus_pitch = 9;
    reference::norm_backward(a);
    return at::cat({dx.flatten(), terms.flatten()});
  };
  EXPECT_TRUE(at::equal(gradient(true, false), gradient(false, false)));
  const at::Tensor got = gradient(true, true), without = gradient(true, false);
  const at::Tensor difference = (got - without).narrow(0, 0, 288).view({3, 6, 4, 4});
  expect_near(difference, other.narrow(1, 0, 6), "what was added");
}

// Ties: the first of equal values gets the gradient, and none does where ReLU gave all zeros.
TEST(NormReference, TiesOfAPoolGoWhereAtenSendsThem) {
  const at::Tensor values =
      channels_last(at::arange(2 * 3 * 16).remainder(3).to(at::kFloat).view({2, 3, 4, 4}));
  const at::Tensor x = values.clone().requires_grad_();
  const at::Tensor scale = at::ones({3}), shift = at::full({3}, -1.0F);
  const at::Tensor y = at::max_pool2d((x - 1).relu(), {2, 2});
  const at::Tensor dy = channels_last(at::rand_like(y));
  y.backward(dy);

  // dz is dx when the statistics' gradient is taken out: with inv_std = 0, dx = dz - mean(dz).
  const at::Tensor dx = at::zeros_like(values), dweight = at::zeros({3}), dbias = at::zeros({3});
  const at::Tensor zero = at::zeros({3});
  NormBackwardArgs args;
  args.x = values.data_ptr(), args.dy = dy.data_ptr(), args.map = map_of(values);
  args.relu = args.pool = true;
  args.mean = floats(zero), args.inv_std = floats(zero);
  args.scale = floats(scale), args.shift = floats(shift);
  args.dweight = floats(dweight), args.dbias = floats(dbias), args.dx = dx.data_ptr();
  reference::norm_backward(args);
  expect_near(dx, x.grad() - row(dbias) / 32, "dx");
  expect_near(dbias, x.grad().sum({0, 2, 3}), "dbias");
  EXPECT_GT(x.grad().count_nonzero().item<int64_t>(), 0);
}

// In bf16 the inputs are exact and the result is rounded once.
TEST(NormReference, Bf16IsFloatRoundedOnce) {
  torch::manual_seed(7);
  const auto x = channels_last(at::randn({4, 6, 8, 8}).to(at::kBFloat16));
  const auto residual = channels_last(at::randn({4, 6, 8, 8}).to(at::kBFloat16));
  const at::Tensor wide = channels_last(x.to(at::kFloat)),
                   wide_residual = channels_last(residual.to(at::kFloat));
  Norm norm(6), same(6);
  reference::norm_stats(norm.stats(wide));
  StatsArgs low = same.stats(x);
  low.type = Type::kBFloat16;
  reference::norm_stats(low);
  EXPECT_TRUE(at::equal(same.mean, norm.mean));
  EXPECT_TRUE(at::equal(same.inv_std, norm.inv_std));
  for (const Mode& mode : kModes) {
    const at::Tensor expected = apply(norm, wide, wide_residual, mode).to(at::kBFloat16);
    EXPECT_TRUE(at::equal(apply(norm, x, residual, mode), expected));
  }
}

}  // namespace
}  // namespace adagp::cuda

// Does every copy end with the mean of all copies' gradients, whenever and however they came?

#include "adagp/teams/parallel/buckets.h"

#include <algorithm>
#include <memory>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "unit/comm/fake_group.h"

namespace adagp::parallel {
namespace {

using adagp::testing::Exchange;

constexpr int kCopies = 2;  // the mean of two small whole numbers is exact

// Of several shapes and layouts, so that a bucket taken for another one has another length.
std::vector<optim::Param> made_params() {
  std::vector<optim::Param> params{
      {"conv", at::zeros({4, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast)},
      {"bias", at::zeros({5})},
      {"wide", at::zeros({7, 3}).t()},
      {"scale", at::zeros({})},
      {"last", at::zeros({2, 9})},
  };
  for (auto& param : params) param.value.requires_grad_();
  return params;
}
constexpr int64_t kSmall = 40;  // bytes: several buckets, some of more than one parameter

// Small whole numbers, others for every copy, parameter and element.
at::Tensor gradient_for(const at::Tensor& value, int copy, size_t param) {
  const int64_t begin = 3 * copy + 5 * static_cast<int64_t>(param);
  return (at::arange(value.numel()).mul(7).add(begin))
      .remainder(11)
      .to(at::kFloat)
      .view(value.sizes());
}

at::Tensor mean_for(const at::Tensor& value, size_t param) {
  at::Tensor sum = at::zeros(value.sizes());
  for (int copy = 0; copy < kCopies; ++copy) sum += gradient_for(value, copy, param);
  return sum / kCopies;
}

// A backward pass that reaches this parameter alone, `times` times.
void backward_to(const optim::Param& param, int copy, size_t index, int times = 1) {
  const at::Tensor& leaf = param.bf16_copy.defined() ? param.bf16_copy : param.value;
  const at::Tensor part = gradient_for(param.value, copy, index).to(leaf.scalar_type());
  for (int i = 0; i < times; ++i) (leaf * part).sum().backward();
}

void expect_means(const std::vector<optim::Param>& params) {
  for (size_t p = 0; p < params.size(); ++p) {
    const at::Tensor& value = params[p].value;
    EXPECT_TRUE(at::equal(value.grad(), mean_for(value, p))) << params[p].name;
    EXPECT_EQ(value.grad().strides(), value.strides()) << params[p].name;
  }
}

std::string a_batch() {
  return "a batch";
}

// `body` on every copy, each in a thread of its own.
void with_copies(int copies, const std::function<void(comm::Group&)>& body) {
  const auto exchange = std::make_shared<Exchange>(copies);
  adagp::testing::expect_no_errors(adagp::testing::on_threads(*exchange, [&](int rank) {
    adagp::testing::FakeGroup group(exchange, rank);
    body(group);
  }));
}

// The order in which a copy's gradients come.
std::vector<size_t> order_of(int copy, size_t count) {
  std::vector<size_t> order;
  for (size_t i = 0; i < count; ++i) order.push_back(i);
  if (copy == 0) std::reverse(order.begin(), order.end());  // as a backward pass does
  return order;
}

TEST(Buckets, LateOnesHoldTheMean) {
  with_copies(kCopies, [](comm::Group& group) {
    const auto params = made_params();
    Buckets buckets(group, params, kSmall);
    EXPECT_GT(buckets.count(), 1);
    buckets.begin(0, a_batch);
    for (size_t p = 0; p < params.size(); ++p) {
      params[p].value.mutable_grad() = at::empty_like(params[p].value.detach())
                                           .copy_(gradient_for(params[p].value, group.rank(), p));
    }
    buckets.finish();
    expect_means(params);
  });
}

TEST(Buckets, EarlyOnesHoldTheSameInWhateverOrderGradientsCome) {
  with_copies(kCopies, [](comm::Group& group) {
    const auto params = made_params();
    Buckets buckets(group, params, kSmall);
    for (int batch = 0; batch < 3; ++batch) {  // the later ones find the state the first has left
      for (const auto& param : params) param.value.mutable_grad().reset();
      buckets.begin(1, a_batch);
      for (const size_t p : order_of(group.rank(), params.size())) {
        backward_to(params[p], group.rank(), p);
      }
      buckets.finish();
      expect_means(params);
    }
  });
}

TEST(Buckets, MicroBatchesAreAddedUpBeforeTheyLeave) {
  with_copies(kCopies, [](comm::Group& group) {
    const auto params = made_params();
    Buckets buckets(group, params, kSmall);
    constexpr int kUses = 3;
    buckets.begin(kUses, a_batch);
    for (int use = 0; use < kUses; ++use) {
      for (const size_t p : order_of(group.rank(), params.size())) {
        backward_to(params[p], group.rank(), p);
      }
    }
    buckets.finish();
    for (size_t p = 0; p < params.size(); ++p) {
      const at::Tensor expected = kUses * mean_for(params[p].value, p);
      EXPECT_TRUE(at::equal(params[p].value.grad(), expected)) << params[p].name;
    }
  });
}

// Alone, so that the moment of leaving is seen: one thread, one copy.
TEST(Buckets, ABucketLeavesWithTheLastGradientItWaitsForAndNotBefore) {
  const auto exchange = std::make_shared<Exchange>(1);
  adagp::testing::FakeGroup group(exchange, 0);
  const auto params = made_params();
  Buckets buckets(group, params, /*bytes=*/1);  // one for each parameter
  ASSERT_EQ(buckets.count(), std::ssize(params));
  const auto left = [&] { return exchange->sums.size(); };

  buckets.begin(2, a_batch);
  backward_to(params[4], 0, 4);
  EXPECT_EQ(left(), 0U);  // half of its uses
  backward_to(params[2], 0, 2, 2);
  EXPECT_EQ(left(), 0U);  // complete, but others go before it
  backward_to(params[4], 0, 4);
  EXPECT_EQ(left(), 1U);
  backward_to(params[3], 0, 3, 2);
  EXPECT_EQ(left(), 3U);  // and with it the one that has waited
  buckets.finish();
  EXPECT_EQ(left(), 5U);  // those without a gradient, too: other copies may have one

  buckets.begin(0, a_batch);
  for (size_t p = 0; p < params.size(); ++p) backward_to(params[p], 0, p);
  EXPECT_EQ(left(), 5U);
  buckets.finish();
  EXPECT_EQ(left(), 10U);
}

TEST(Buckets, AParameterWithoutAGradientCountsAsZero) {
  with_copies(kCopies, [](comm::Group& group) {
    const auto params = made_params();
    Buckets buckets(group, params, kSmall);
    constexpr size_t kUnused = 3, kUsedByOne = 1;
    buckets.begin(1, a_batch);
    for (const size_t p : order_of(group.rank(), params.size())) {
      if (p == kUnused || (p == kUsedByOne && group.rank() == 0)) continue;
      backward_to(params[p], group.rank(), p);
    }
    buckets.finish();
    for (size_t p = 0; p < params.size(); ++p) {
      at::Tensor expected = mean_for(params[p].value, p);
      if (p == kUnused) expected.zero_();
      if (p == kUsedByOne) expected = gradient_for(params[p].value, 1, p) / kCopies;
      EXPECT_TRUE(at::equal(params[p].value.grad(), expected)) << params[p].name;
    }
  });
}

TEST(Buckets, GradientsOfBf16CopiesAreAddedInFp32) {
  with_copies(3, [](comm::Group& group) {
    at::Tensor copy = at::zeros({2}, at::kBFloat16);
    copy.requires_grad_();
    const std::vector<optim::Param> params{{"w", at::zeros({2}), copy}};
    Buckets buckets(group, params);
    buckets.begin(1, a_batch);
    // In bf16 256 + 1 is 256 again.
    const at::Tensor own = at::tensor({group.rank() == 0 ? 256.0F : 1.0F, 3.0F});
    (copy * own.to(at::kBFloat16)).sum().backward();
    buckets.finish();
    EXPECT_FALSE(copy.grad().defined());
    EXPECT_TRUE(at::equal(params[0].value.grad(), at::tensor({86.0F, 3.0F})));
  });
}

TEST(Buckets, AreFilledFromTheLastParameter) {
  const auto exchange = std::make_shared<Exchange>(1);
  const auto params = made_params();  // of 48, 5, 21, 1 and 18 elements of 4 bytes
  const auto lengths = [&](int64_t bytes) {
    exchange->sums.clear();
    adagp::testing::FakeGroup group(exchange, 0);
    Buckets buckets(group, params, bytes);
    buckets.begin(0, a_batch);
    buckets.finish();
    EXPECT_EQ(buckets.count(), std::ssize(exchange->sums));
    std::vector<int64_t> out;
    for (const auto& sum : exchange->sums) out.push_back(sum.parts[0].numel());
    return out;
  };
  // Each begins at a multiple of four.
  EXPECT_EQ(lengths(1), (std::vector<int64_t>{20, 4, 24, 8, 48}));
  EXPECT_EQ(lengths(4 * 19), (std::vector<int64_t>{20 + 4, 24, 8 + 48}));
  EXPECT_EQ(lengths(4 * 20), (std::vector<int64_t>{20 + 4 + 24, 8 + 48}));
  EXPECT_EQ(lengths(4 << 20), (std::vector<int64_t>{20 + 4 + 24 + 8 + 48}));
}

TEST(Buckets, ABackwardPassAfterTheirEndSendsNothing) {
  const auto exchange = std::make_shared<Exchange>(1);
  adagp::testing::FakeGroup group(exchange, 0);
  const auto params = made_params();
  {
    Buckets buckets(group, params, /*bytes=*/1);
    buckets.begin(1, a_batch);
    backward_to(params[0], 0, 0);  // never complete: the run ended in the middle of a batch
  }
  for (size_t p = 0; p < params.size(); ++p) backward_to(params[p], 0, p);
  EXPECT_TRUE(exchange->sums.empty());
}

}  // namespace
}  // namespace adagp::parallel

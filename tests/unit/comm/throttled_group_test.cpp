// Exchanges over a link that is slower than this machine's.

#include "adagp/teams/comm/throttled_group.h"

#include <chrono>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "unit/comm/fake_group.h"

namespace adagp::comm {
namespace {

using adagp::testing::Exchange;
using adagp::testing::FakeGroup;

// Seconds that `work` takes in the slowest of so many members, one thread each.
double seconds(int members, const Link& link, const std::function<void(Group&)>& work) {
  const auto exchange = std::make_shared<Exchange>(members);
  const auto begin = std::chrono::steady_clock::now();
  adagp::testing::expect_no_errors(adagp::testing::on_threads(*exchange, [&](int rank) {
    const auto group = throttled(std::make_unique<FakeGroup>(exchange, rank), link);
    work(*group);
  }));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// A busy machine is late, never early.
TEST(Throttled, ASumTakesWhatARingTakes) {
  const auto sum = [](Group& group) {
    std::vector<at::Tensor> one{at::full({1000}, 1 + group.rank(), at::kFloat)};
    group.sum(one, "a sum");
    EXPECT_EQ(one[0][999].item<float>(), group.size() == 2 ? 3 : 10);  // 1 + 2, ... + 3 + 4
  };
  EXPECT_GE(seconds(2, {1e5, 0}, sum), 2 * 0.5 * 4000 / 1e5);
  EXPECT_GE(seconds(4, {1e5, 0.005}, sum), 2 * 3 * (0.005 + 1000 / 1e5));
  EXPECT_GE(seconds(2, {0, 0.02}, sum), 2 * 0.02);
}

TEST(Throttled, ExchangesUseTheLinkOneAfterTheOther) {
  const double found = seconds(2, {1e5, 0}, [](Group& group) {
    const at::Tensor a = at::ones({1000}), b = at::ones({1000});
    const auto first = group.sum_later(a, "a"), second = group.sum_later(b, "b");
    first->wait();
    second->wait();
    EXPECT_EQ(a[0].item<float>() + b[0].item<float>(), 4);
  });
  EXPECT_GE(found, 2 * 4000 / 1e5);
}

TEST(Throttled, RowsOfAllAreGathered) {
  const double found = seconds(2, {1e5, 0}, [](Group& group) {
    const auto rows = group.gather_rows(at::full({2000}, group.rank(), at::kFloat), "rows");
    EXPECT_EQ(rows.at(1)[5].item<float>(), 1);
  });
  EXPECT_GE(found, 8000 / 1e5);
}

TEST(Throttled, WithoutALimitTheGroupIsItself) {
  auto group = std::make_unique<FakeGroup>(std::make_shared<Exchange>(1), 0);
  const Group* before = group.get();
  EXPECT_EQ(throttled(std::move(group), {}).get(), before);
}

struct NcclGroup : FakeGroup {
  using FakeGroup::FakeGroup;
  std::string backend() const override { return "nccl"; }
};

TEST(Throttled, GroupsOfNcclAreRefused) {
  const auto group = [] { return std::make_unique<NcclGroup>(std::make_shared<Exchange>(1), 0); };
  EXPECT_THROW(throttled(group(), {1e6, 0}), UsageError);
  EXPECT_THROW(throttled(group(), {0, 0.1}), UsageError);
  EXPECT_NO_THROW(throttled(group(), {}));
}

}  // namespace
}  // namespace adagp::comm

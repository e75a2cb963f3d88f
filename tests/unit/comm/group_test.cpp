// What a group computes: members are threads, each with its own group over one store.

#include "adagp/teams/comm/group.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <thread>

#include "adagp/base/core/text.h"
#include "adagp/teams/comm/store_place.h"
#include "unit/patience.h"

namespace adagp::comm {
namespace {

constexpr std::chrono::seconds kTimeout = adagp::testing::kPatience;

void with_members(int world, const std::function<void(Group&)>& body) {
  setenv("TORCH_FR_BUFFER_SIZE", "0", 1);  // as gloo.cpp does: not while threads read variables
  const StoreFile store;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        GroupOptions options;
        options.timeout = kTimeout;
        const RankInfo place{rank, world, rank, "127.0.0.1", 0, store.path()};
        body(*join(place, options, at::kCPU));
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

// Small whole numbers, so that sums are exact in every order.
at::Tensor numbers(at::IntArrayRef sizes, int64_t seed, at::ScalarType type = at::kFloat) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return (at::arange(count, at::kLong) * 7 + seed * 3).remainder(11).to(type).view(sizes);
}

class Groups : public ::testing::Test {
 protected:
  void SetUp() override {
    if (backends().empty()) GTEST_SKIP() << "built without gloo's headers";
  }
};

TEST_F(Groups, KnowWhoIsWho) {
  with_members(3, [](Group& group) {
    EXPECT_EQ(group.size(), 3);
    EXPECT_EQ(group.world_rank(group.rank()), group.rank());
    EXPECT_EQ(group.backend(), "gloo");
  });
}

TEST_F(Groups, SumTensorsOfSeveralTypesAndLayouts) {
  with_members(3, [](Group& group) {
    const auto made = [](int64_t rank) {
      return std::vector<at::Tensor>{
          numbers({2, 3, 4, 5}, rank).contiguous(at::MemoryFormat::ChannelsLast),
          numbers({7}, rank, at::kDouble),
          numbers({6, 4}, rank).t(),
          numbers({5, 6}, rank).slice(1, 0, 6, 2),  // with gaps
          numbers({1}, rank).squeeze(),
          numbers({0, 3}, rank),
          numbers({9}, rank, at::kLong),
          numbers({300}, rank, at::kBFloat16),
      };
    };
    std::vector<at::Tensor> tensors = made(group.rank());
    const std::vector<at::Tensor> handles = tensors;
    group.sum(tensors, "a test");
    const auto a = made(0), b = made(1), c = made(2);
    for (size_t i = 0; i < handles.size(); ++i) {
      EXPECT_TRUE(at::equal(handles[i], a[i] + b[i] + c[i])) << "tensor " << i;
      EXPECT_EQ(handles[i].strides(), made(0)[i].strides()) << "tensor " << i;
    }
  });
}

TEST_F(Groups, SumLaterInPlaceWhileOthersAreUnderWay) {
  with_members(2, [](Group& group) {
    std::vector<at::Tensor> buckets;
    std::vector<std::unique_ptr<Transfer>> sums;
    for (int64_t i = 0; i < 20; ++i) {
      buckets.push_back(numbers({1000 + i}, i + group.rank()));
      sums.push_back(group.sum_later(buckets.back(), "bucket"));
    }
    for (int64_t i = 19; i >= 0; --i) {
      sums[i]->wait();
      EXPECT_TRUE(sums[i]->done());
      EXPECT_TRUE(at::equal(buckets[i], numbers({1000 + i}, i) + numbers({1000 + i}, i + 1)));
    }
  });
}

TEST_F(Groups, BroadcastFromAnyMemberInItsLayout) {
  with_members(3, [](Group& group) {
    at::Tensor tensor =
        numbers({2, 3, 4, 4}, group.rank()).contiguous(at::MemoryFormat::ChannelsLast);
    group.broadcast(tensor, 2, "a test");
    EXPECT_TRUE(at::equal(tensor, numbers({2, 3, 4, 4}, 2)));
    at::Tensor whole = numbers({4, 6}, group.rank()), gaps = whole.slice(1, 1, 6, 2);
    group.broadcast(gaps, 1, "a test");
    EXPECT_TRUE(at::equal(gaps, numbers({4, 6}, 1).slice(1, 1, 6, 2)));
    EXPECT_TRUE(
        at::equal(whole.slice(1, 0, 6, 2), numbers({4, 6}, group.rank()).slice(1, 0, 6, 2)));
  });
}

TEST_F(Groups, GatherTextsOfAllLengths) {
  with_members(3, [](Group& group) {
    const std::string own = std::string(group.rank() * 1000, static_cast<char>('a' + group.rank()));
    const auto texts = group.gather(own, "a test");
    ASSERT_EQ(texts.size(), 3U);
    EXPECT_EQ(texts[0], "");
    EXPECT_EQ(texts[1], std::string(1000, 'b'));
    EXPECT_EQ(texts[2], std::string(2000, 'c'));
    const std::string odd("x\0\n\xff", 4);
    EXPECT_EQ(group.gather(odd, "a test"), std::vector<std::string>(3, odd));
  });
}

TEST_F(Groups, MessagesKeepValuesAndLayouts) {
  const std::vector<at::Tensor> messages{
      numbers({2, 3, 5, 7}, 1).contiguous(at::MemoryFormat::ChannelsLast),
      numbers({3, 1, 1}, 2),
      numbers({1}, 3).squeeze(),
      numbers({0, 4}, 4),
      numbers({5, 3}, 5).t(),
      numbers({6, 8}, 6).slice(1, 0, 8, 3),
      numbers({11}, 7, at::kLong),
      numbers({13}, 8, at::kBool),
      numbers({300000}, 9),
  };
  with_members(2, [&](Group& group) {
    const int other = 1 - group.rank();
    std::vector<std::unique_ptr<Transfer>> sent, received;
    std::vector<at::Tensor> got;
    // Both send all before either receives.
    for (const auto& message : messages) sent.push_back(group.send(message, other, 5, "out"));
    for (const auto& message : messages) {
      got.push_back(at::full_like(message, 1));
      if (!message.is_non_overlapping_and_dense()) {
        got.back() = at::ones({6, 8}).slice(1, 0, 8, 3);
      }
      received.push_back(group.receive(got.back(), other, 5, "in"));
    }
    for (auto& each : received) each->wait();
    for (auto& each : sent) each->wait();
    for (size_t i = 0; i < messages.size(); ++i) {
      EXPECT_TRUE(at::equal(got[i], messages[i])) << "message " << i;
      EXPECT_EQ(got[i].strides(), messages[i].strides()) << "message " << i;
    }
  });
}

TEST_F(Groups, MessagesWithOtherTagsMayOvertake) {
  with_members(2, [](Group& group) {
    if (group.rank() == 0) {
      std::vector<std::unique_ptr<Transfer>> sent;
      for (int i = 0; i < 4; ++i)
        sent.push_back(group.send(at::full({2}, 1.0 * i), 1, i % 2, "out"));
      for (auto& each : sent) each->wait();
    } else {
      for (const int expected : {1, 0, 3, 2}) {
        at::Tensor got = at::full({2}, -1.0);
        group.receive(got, 0, expected % 2, "in")->wait();
        EXPECT_EQ(got[0].item<float>(), static_cast<float>(expected));
      }
    }
  });
}

TEST_F(Groups, DoneTellsWithoutWaiting) {
  with_members(2, [](Group& group) {
    if (group.rank() == 1) {
      EXPECT_EQ(group.gather("", "first").size(), 2U);
      group.send(at::ones({4}), 0, 0, "out")->wait();
      EXPECT_EQ(group.gather("", "last").size(), 2U);
      return;
    }
    at::Tensor got = at::zeros({4});
    auto transfer = group.receive(got, 1, 0, "in");
    EXPECT_FALSE(transfer->done());
    EXPECT_EQ(group.gather("", "first").size(), 2U);
    EXPECT_TRUE(adagp::testing::becomes_true([&] { return transfer->done(); }));
    transfer->wait();
    transfer->wait();
    EXPECT_TRUE(at::equal(got, at::ones({4})));
    const auto begin = std::chrono::steady_clock::now();
    auto given_up = group.receive(got, 1, 1, "in");
    EXPECT_FALSE(given_up->done());
    given_up.reset();
    // Not after the timeout.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kTimeout / 2);
    EXPECT_EQ(group.gather("", "last").size(), 2U);
  });
}

TEST_F(Groups, SplitByColourAndAgain) {
  with_members(4, [](Group& group) {
    const int rank = group.rank();
    auto rows = group.split(rank / 2, "rows"), columns = group.split(rank % 2, "columns");
    EXPECT_EQ(rows->size(), 2);
    EXPECT_EQ(rows->rank(), rank % 2);
    EXPECT_EQ(columns->rank(), rank / 2);
    EXPECT_EQ(columns->world_rank(1), 2 + rank % 2);
    std::vector<at::Tensor> in_row{at::full({1}, 1.0 * (1 << rank))},
        in_column{at::full({1}, 1.0 * (1 << rank))};
    rows->sum(in_row, "a test");
    columns->sum(in_column, "a test");
    EXPECT_EQ(in_row[0].item<float>(), rank < 2 ? 0b0011 : 0b1100);
    EXPECT_EQ(in_column[0].item<float>(), rank % 2 == 0 ? 0b0101 : 0b1010);
    auto alone = rows->split(rows->rank(), "alone");
    EXPECT_EQ(alone->size(), 1);
    std::vector<at::Tensor> own{at::full({1}, 1.0 * rank)};
    alone->sum(own, "a test");
    EXPECT_EQ(own[0].item<float>(), static_cast<float>(rank));
    EXPECT_EQ(alone->gather("x", "a test"), std::vector<std::string>{"x"});
  });
}

TEST_F(Groups, SumsAreEqualBitForBitOnAllMembers) {
  with_members(3, [](Group& group) {
    at::Tensor tensor = (numbers({5000}, group.rank()) + 0.1).sin();
    group.sum_later(tensor, "a test")->wait();
    const std::string bytes(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
    const auto all = group.gather(bytes, "a test");
    EXPECT_EQ(all[0], all[1]);
    EXPECT_EQ(all[0], all[2]);
  });
}

TEST(GroupOptions, UnknownBackendsAreRefused) {
  GroupOptions options;
  options.backend = "glo";
  try {
    join({0, 1, 0, "127.0.0.1", 1}, options, at::kCPU);
    ADD_FAILURE() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'gloo'?"), std::string::npos);
  }
  options.backend = "nccl";
  EXPECT_THROW(join({0, 1, 0, "127.0.0.1", 1}, options, at::kCPU), UsageError);
}

}  // namespace
}  // namespace adagp::comm

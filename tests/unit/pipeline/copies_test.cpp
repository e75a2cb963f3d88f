// Does the exchange between copies take what its messages, sent one by one, take?

#include "adagp/sim/pipeline/copies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "adagp/base/core/error.h"
#include "adagp/sim/pipeline/simulate.h"

namespace adagp::pipeline {
namespace {

// Who has added up whose numbers, for each member and piece of the vector; and a clock per member.
class SentOneByOne {
 public:
  SentOneByOne(int members, int pieces, double bytes, double latency, double bandwidth)
      : piece_time_(bytes / pieces / bandwidth), latency_(latency), clocks_(members, 0) {
    for (int m = 0; m < members; ++m) sums_.emplace_back(pieces, std::set<int>{m});
  }

  struct Message {
    int from, to, first, count;  // pieces
    bool add;                    // else it replaces what is there
  };
  // All at once: each member waits for its own message.
  void step(const std::vector<Message>& messages) {
    const auto sums = sums_;
    const auto clocks = clocks_;
    for (const Message& m : messages) {
      for (int p = m.first; p < m.first + m.count; ++p) {
        std::set<int> sum = sums[m.from][p];
        if (m.add) sum.insert(sums[m.to][p].begin(), sums[m.to][p].end());
        sums_[m.to][p] = sum;
      }
      const double arrival = clocks[m.from] + latency_ + m.count * piece_time_;
      clocks_[m.to] = std::max(clocks_[m.to], arrival);
    }
  }

  double time() const { return *std::max_element(clocks_.begin(), clocks_.end()); }
  bool complete() const {
    for (const auto& member : sums_) {
      for (const auto& sum : member) {
        if (sum.size() != sums_.size()) return false;
      }
    }
    return true;
  }

 private:
  double piece_time_, latency_;
  std::vector<double> clocks_;
  std::vector<std::vector<std::set<int>>> sums_;
};

TEST(PipelineCopies, ARingTakesWhatItsMessagesTake) {
  for (int members = 1; members <= 9; ++members) {
    SentOneByOne ring(members, members, 40, 0.7, 3);
    for (int round = 0; round < 2 * (members - 1); ++round) {
      std::vector<SentOneByOne::Message> messages;
      for (int m = 0; m < members; ++m) {
        const int piece = ((m - round) % members + members) % members;
        const bool add = round < members - 1;
        messages.push_back({m, (m + 1) % members, piece, 1, add});
      }
      ring.step(messages);
    }
    EXPECT_TRUE(ring.complete()) << members;
    EXPECT_NEAR(all_reduce_time(AllReduce::kRing, members, 40, 0.7, 3), ring.time(), 1e-12);
  }
}

TEST(PipelineCopies, HalvingTakesWhatItsMessagesTake) {
  for (const int members : {1, 2, 3, 4, 5, 7, 8, 13, 16}) {
    int paired = 1;
    while (2 * paired <= members) paired *= 2;
    SentOneByOne sums(members, paired, 40, 0.7, 3);
    std::vector<SentOneByOne::Message> first, last;
    for (int m = paired; m < members; ++m) {
      first.push_back({m, m - paired, 0, paired, true});
      last.push_back({m - paired, m, 0, paired, false});
    }
    // Members without a partner wait for the others, as all do in the simulator.
    for (int m = members - paired; members > paired && m < paired; ++m) {
      first.push_back({m, m, 0, paired, true});
    }
    sums.step(first);
    for (int distance = paired / 2; distance >= 1; distance /= 2) {
      std::vector<SentOneByOne::Message> messages;
      for (int m = 0; m < paired; ++m) {  // keep the half with our bit, give the other away
        const int partner = m ^ distance;
        messages.push_back({m, partner, partner / distance * distance, distance, true});
      }
      sums.step(messages);
    }
    for (int distance = 1; distance < paired; distance *= 2) {
      std::vector<SentOneByOne::Message> messages;
      for (int m = 0; m < paired; ++m) {
        messages.push_back({m, m ^ distance, m / distance * distance, distance, false});
      }
      sums.step(messages);
    }
    sums.step(last);
    EXPECT_TRUE(sums.complete()) << members;
    EXPECT_NEAR(all_reduce_time(AllReduce::kHalving, members, 40, 0.7, 3), sums.time(), 1e-12)
        << members;
  }
}

TEST(PipelineCopies, BucketsLeaveAsSoonAsTheyAreCompleteAndTheLinkIsFree) {
  std::mt19937 random(3);
  const auto draw = [&](double most) { return most * (random() % 1000) / 1000; };
  for (int i = 0; i < 1000; ++i) {
    const Copies copies{2 + static_cast<int>(random() % 30), draw(0.2), 1 + draw(20),
                        i % 10 == 0 ? 0 : 1 + draw(10)};
    const double bytes = draw(100), start = draw(10), end = start + draw(10), free = draw(20);
    const int buckets =
        copies.bucket_bytes > 0 ? std::max(1, int(std::ceil(bytes / copies.bucket_bytes))) : 1;
    double link = free;
    for (int k = 1; k <= buckets; ++k) {
      link = std::max(link, start + (end - start) * k / buckets) +
             2 * (copies.count - 1) *
                 (copies.latency + bytes / buckets / copies.count / copies.bandwidth);
    }
    EXPECT_NEAR(gradients_exchanged(copies, bytes, start, end, free), link, 1e-9);
  }
}

// 4 micro-batches on one device, F = 1 and B = 2, 16 bytes of gradients, 4 of summaries.
struct OneDevice {
  Placement placement = make_placement({"gpipe", 1, 4});
  Costs costs{{{}}};

  explicit OneDevice(const Copies& copies) {
    costs.stages[0].weight_bytes = 16;
    costs.stages[0].summary_bytes = 4;
    costs.stages[0].optimizer = 0.5;
    costs.stages[0].predict_update = 0.25;
    costs.copies = copies;
  }
  Result of(const char* phases) const { return simulate(placement, costs, parse_phases(phases)); }
};

TEST(PipelineCopies, ABatchEndsWithItsExchange) {
  // Four copies: 2 x 3 messages. 16 bytes: each of 4 bytes, at 8 bytes a step and a latency of 1.
  const double whole = 6 * (1 + 0.5), summaries = 6 * (1 + 0.125);
  const OneDevice after({4, 1, 8, 0});
  EXPECT_NEAR(after.of("bp").makespan, 12 + whole + 0.5, 1e-12);
  EXPECT_NEAR(after.of("bp").exchange_wait[0], whole, 1e-12);
  EXPECT_NEAR(after.of("gp").makespan, 4 + summaries + 0.25, 1e-12);
  EXPECT_NEAR(after.of("gp-bp").makespan, 16 + whole + summaries + 0.75, 1e-12);
  // In two buckets: the first leaves in the middle of the last backward pass.
  const double half = 6 * (1 + 0.25);
  const OneDevice during({4, 1, 8, 8});
  EXPECT_NEAR(during.of("bp").makespan, 11 + 2 * half + 0.5, 1e-12);
  // Without latency two halves take what one whole takes, and the first is hidden.
  const OneDevice hidden({4, 0, 8, 8});
  EXPECT_NEAR(hidden.of("bp").makespan, 11 + 2 * 6 * 0.25 + 0.5, 1e-12);
  EXPECT_NEAR(OneDevice({4, 0, 8, 0}).of("bp").makespan, 12 + 6 * 0.5 + 0.5, 1e-12);
}

TEST(PipelineCopies, LaterStagesHideTheirExchangeBehindEarlierOnes) {
  // GPipe's last of 4 stages is done 3 backward passes before the first.
  Placement placement = make_placement({"gpipe", 4, 4});
  Costs costs{std::vector<StageCost>(4)};
  costs.copies = {2, 0, 1, 0};
  for (int slow = 0; slow < 4; ++slow) {
    for (StageCost& cost : costs.stages) cost.weight_bytes = 0;
    costs.stages[static_cast<size_t>(slow)].weight_bytes = 5;
    // 21 steps; stage s is done at 21 - 2 s.
    EXPECT_EQ(simulate(placement, costs, {}).makespan, std::max(21, 21 - 2 * slow + 5)) << slow;
  }
}

TEST(PipelineCopies, ChimerasReplicasAndCopiesAddUpTogether) {
  Placement placement = make_placement({"chimera", 2, 2});
  Costs costs{std::vector<StageCost>(2), 0.25, 4};
  for (StageCost& cost : costs.stages) cost.weight_bytes = 8;
  const double alone = simulate(placement, costs, {}).makespan;
  costs.copies = {3, 0.25, 4, 0};
  // Two stages, one after the other: 2 members before, 6 now.
  const double before = 2 * (2 * (0.25 + 4 / 4.0)), now = 2 * (10 * (0.25 + 8 / 6.0 / 4));
  EXPECT_NEAR(simulate(placement, costs, {}).makespan, alone - before + now, 1e-12);
}

TEST(PipelineCopies, UnknownAllReducesAreRefused) {
  EXPECT_EQ(parse_all_reduce("halving"), AllReduce::kHalving);
  EXPECT_THROW(parse_all_reduce("tree"), UsageError);
}

}  // namespace
}  // namespace adagp::pipeline

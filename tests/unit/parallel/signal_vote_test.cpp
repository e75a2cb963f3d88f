// Do all processes hear of a signal that one of them got?

#include "adagp/teams/parallel/signal_vote.h"

#include <gtest/gtest.h>

#include "unit/comm/fake_group.h"

namespace adagp::parallel {
namespace {

TEST(SignalVote, AllHearTheLargestAndNobodyForgetsIt) {
  const auto exchange = std::make_shared<testing::Exchange>(3);
  testing::expect_no_errors(testing::on_threads(*exchange, [&](int rank) {
    testing::FakeGroup group(exchange, rank);
    SignalVote vote(group);
    EXPECT_EQ(vote.ask(0, false, "signals"), 0);
    EXPECT_EQ(vote.ask(rank == 1 ? 2 : 0, false, "signals"), 2);
    EXPECT_EQ(vote.ask(rank == 2 ? 15 : 0, false, "signals"), 15);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(vote.ask(0, i % 2 == 0, "signals"), 15);
  }));
}

TEST(SignalVote, WhatIsNoSignalIsNotTold) {
  const auto exchange = std::make_shared<testing::Exchange>(1);
  testing::FakeGroup group(exchange, 0);
  SignalVote vote(group);
  EXPECT_EQ(vote.ask(-1, true, "signals"), 0);
  EXPECT_EQ(vote.ask(65, true, "signals"), 0);
  EXPECT_EQ(vote.ask(64, true, "signals"), 64);
}

}  // namespace
}  // namespace adagp::parallel

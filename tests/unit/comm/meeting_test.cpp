// The processes of a start find each other, whatever former starts have left in the store.

#include "adagp/teams/comm/meeting.h"

#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "adagp/teams/comm/peer_error.h"
#include "unit/patience.h"

namespace adagp::comm {
namespace {

using testing::kPatience;

RankInfo as(int rank, int world) {
  RankInfo info;
  info.rank = rank;
  info.world = world;
  info.master = "127.0.0.1";
  return info;
}

// The ranks that have written in this process's part of the store, once all have.
std::string seen_by(const StorePtr& store, int rank, int world) {
  const StorePtr part = meet(store, as(rank, world), kPatience);
  if (part->check({std::to_string(rank)})) return "the part of a former start";
  part->set(std::to_string(rank), std::to_string(rank));
  std::string all;
  for (int other = 0; other < world; ++other) {
    const std::string key = std::to_string(other);
    part->wait({key}, kPatience);
    for (const uint8_t letter : part->get(key)) all += static_cast<char>(letter);
  }
  return all;
}

// One of them comes when the others have waited a while: rank 0, or the last.
void expect_meeting(const StorePtr& store, int world, bool first_comes_last) {
  std::vector<std::future<std::string>> seen;
  std::string expected;
  for (int i = 0; i < world; ++i) {
    if (i == world - 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const int rank = first_comes_last ? world - 1 - i : i;
    seen.push_back(std::async(std::launch::async, seen_by, store, rank, world));
    expected += std::to_string(i);
  }
  for (auto& each : seen) EXPECT_EQ(each.get(), expected);
}

TEST(Meeting, OfStartAfterStartInOneStore) {
  const StorePtr store = c10::make_intrusive<c10d::HashStore>();
  expect_meeting(store, 4, false);
  expect_meeting(store, 4, true);
  expect_meeting(store, 2, true);  // two processes have gone
  expect_meeting(store, 3, false);
  expect_meeting(store, 1, false);
}

// Killed on its way: it came, and the start that it came for never was.
TEST(Meeting, AProcessThatCameAndDiedIsNotTakenForTheNext) {
  const StorePtr store = c10::make_intrusive<c10d::HashStore>();
  for (int rank = 1; rank < 3; ++rank) {
    EXPECT_THROW(meet(store, as(rank, 3), std::chrono::milliseconds(10)), PeerError);
  }
  EXPECT_THROW(meet(store, as(0, 3), std::chrono::milliseconds(100)), PeerError);
  expect_meeting(store, 3, false);
  expect_meeting(store, 3, true);
}

std::string said(int rank, int world) {
  try {
    meet(c10::make_intrusive<c10d::HashStore>(), as(rank, world), std::chrono::milliseconds(20));
  } catch (const PeerError& error) {
    return error.what();
  }
  return "met";
}

TEST(Meeting, ThoseWhoDoNotComeAreNamed) {
  const std::string first = said(0, 3), second = said(1, 3);
  EXPECT_NE(first.find("within 0.02 s 1 came, ranks 1, 2 did not"), std::string::npos) << first;
  EXPECT_NE(second.find("within 0.02 s rank 0 did not come"), std::string::npos) << second;
}

// torchrun's agent ends while they wait.
class EndingStore : public c10d::HashStore {
 public:
  bool check(const std::vector<std::string>&) override {
    throw std::runtime_error("the connection is closed");
  }
};

TEST(Meeting, AStoreThatEndsIsNamed) {
  for (const int rank : {0, 1}) {
    try {
      meet(c10::make_intrusive<EndingStore>(), as(rank, 2), kPatience);
      FAIL() << "met";
    } catch (const PeerError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("the connection is closed"), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace adagp::comm

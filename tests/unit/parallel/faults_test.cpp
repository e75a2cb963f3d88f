// What the others say when a process of a group dies, stops, hangs or fails. Real processes.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/parallel/group.h"
#include "adagp/parallel/store_host.h"
#include "unit/parallel/processes.h"

namespace adagp::parallel {
namespace {

using testing::Process;
using Clock = std::chrono::steady_clock;

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Faults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (backends().empty()) GTEST_SKIP() << "built without gloo's headers";
  }

  void start(int world, const std::vector<std::string>& arguments, int timeout_ms) {
    start_one_by_one(world, world, arguments, timeout_ms);
  }
  void start_one_by_one(int started, int world, const std::vector<std::string>& arguments,
                        int timeout_ms) {
    for (int rank = 0; rank < started; ++rank) {
      members_.push_back(std::make_unique<Process>(
          arguments, Process::Variables{{"RANK", std::to_string(rank)},
                                        {"LOCAL_RANK", std::to_string(rank)},
                                        {"WORLD_SIZE", std::to_string(world)},
                                        {"MASTER_ADDR", "127.0.0.1"},
                                        {"MASTER_PORT", std::to_string(host_.port())},
                                        {"MEMBER_TIMEOUT", std::to_string(timeout_ms)},
                                        {"OMP_NUM_THREADS", "1"},
                                        {"TORCHELASTIC_USE_AGENT_STORE", "True"}}));
    }
  }
  std::string named(int rank, pid_t pid) { return core::cat("rank ", rank, " (pid ", pid, ")"); }

  StoreHost host_;
  std::vector<std::unique_ptr<Process>> members_;
};

TEST_F(Faults, NoneWithoutAFault) {
  start(3, {"1", "none"}, 20000);
  for (auto& member : members_) EXPECT_EQ(member->wait(), 0) << member->errors();
}

TEST_F(Faults, AKilledProcessIsNamedAtOnce) {
  const auto begin = Clock::now();
  start(3, {"1", "kill"}, 60000);
  const pid_t victim = members_[1]->pid();
  EXPECT_EQ(members_[1]->wait(), 128 + SIGKILL);
  for (const int rank : {0, 2}) {
    EXPECT_EQ(members_[rank]->wait(), 1);
    const std::string said = members_[rank]->errors();
    EXPECT_TRUE(holds(said, core::cat("rank ", rank, " of 3: the gradients of batch 3: "))) << said;
    EXPECT_TRUE(holds(said, named(1, victim) + " is gone")) << said;
    EXPECT_FALSE(holds(said, "backtrace") || holds(said, ".cc")) << said;
  }
  // Far below the timeout of a minute; starting takes most of it.
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - begin).count(), 20);
}

TEST_F(Faults, AKilledNeighbourInARingIsNamed) {
  start(3, {"1", "kill", "ring"}, 60000);
  const pid_t victim = members_[1]->pid();
  EXPECT_EQ(members_[2]->wait(), 1);
  const std::string said = members_[2]->errors();
  EXPECT_TRUE(holds(said, "rank 2 of 3: the activations of batch 3: ")) << said;
  EXPECT_TRUE(holds(said, named(1, victim) + " is gone")) << said;
  EXPECT_TRUE(holds(said, "for rank 1; ")) << said;
  EXPECT_EQ(members_[0]->wait(), 1);
}

TEST_F(Faults, AStoppedProcessIsNamedAfterTheTimeout) {
  start(2, {"1", "stop"}, 2000);
  const pid_t victim = members_[1]->pid();
  EXPECT_EQ(members_[0]->wait(), 1);
  const std::string said = members_[0]->errors();
  EXPECT_TRUE(holds(said, named(1, victim) + " is stopped (state T)")) << said;
  EXPECT_TRUE(holds(said, "(waited 2.")) << said;
}

TEST_F(Faults, MessagesWaitAsLongAsTheTimeoutSays) {
  // More than the 5 s within which gloo connects.
  start(2, {"1", "hang", "ring"}, 6000);
  const pid_t victim = members_[1]->pid();
  EXPECT_EQ(members_[0]->wait(), 1);
  const std::string said = members_[0]->errors();
  EXPECT_TRUE(holds(said, named(1, victim) + " is alive but did not answer within 6 s")) << said;
  EXPECT_TRUE(holds(said, "(waited 6.")) << said;
}

TEST_F(Faults, AHangingProcessIsToldFromThoseWhoWaitForIt) {
  start(3, {"2", "hang"}, 2000);
  const pid_t victim = members_[2]->pid(), innocent = members_[1]->pid();
  EXPECT_EQ(members_[0]->wait(), 1);
  const std::string said = members_[0]->errors();
  EXPECT_TRUE(holds(said, "the gradients of batch 3: ")) << said;
  EXPECT_TRUE(holds(said, named(2, victim) + " is alive but did not answer within 2 s")) << said;
  EXPECT_FALSE(holds(said, named(1, innocent))) << said;
  EXPECT_EQ(members_[1]->wait(), 1);
}

TEST_F(Faults, AFailureIsQuotedByTheOthers) {
  start(2, {"0", "diverge"}, 60000);
  const pid_t victim = members_[0]->pid();
  EXPECT_EQ(members_[0]->wait(), 4);
  EXPECT_EQ(members_[1]->wait(), 1);
  const std::string said = members_[1]->errors();
  EXPECT_TRUE(holds(said, named(0, victim) + " said: loss is nan in batch 3")) << said;
}

TEST_F(Faults, ThoseWhoDoNotComeAreNamed) {
  start_one_by_one(2, 4, {"0", "none"}, 1500);
  for (auto& member : members_) {
    EXPECT_EQ(member->wait(), 1);
    const std::string said = member->errors();
    EXPECT_TRUE(holds(said, "waiting for 4 processes at 127.0.0.1:")) << said;
    EXPECT_TRUE(holds(said, "within 1.5 s 2 came, ranks 2, 3 did not")) << said;
  }
}

TEST(Unreachable, TheMessageHasTheAddress) {
  if (backends().empty()) GTEST_SKIP() << "built without gloo's headers";
  // A port that nobody listens on: bound, so that nobody else gets it either.
  const int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const int port = ntohs(address.sin_port);
  for (const bool deaf : {false, true}) {
    if (deaf) {
      ASSERT_EQ(listen(taken, 8), 0);  // takes connections and never answers
    }
    const auto begin = Clock::now();
    try {
      GroupOptions options;
      options.timeout = std::chrono::seconds(2);
      join({1, 2, 1, "127.0.0.1", port}, options, at::kCPU);
      ADD_FAILURE() << "joined nobody";
    } catch (const Error& error) {
      const std::string said = error.what();
      EXPECT_EQ(error.exit_code(), 1);
      EXPECT_TRUE(holds(said, core::cat("no store at 127.0.0.1:", port, " within 2 s"))) << said;
      EXPECT_TRUE(holds(said, "MASTER_ADDR and MASTER_PORT")) << said;
    }
    EXPECT_LT(std::chrono::duration<double>(Clock::now() - begin).count(), 6);
  }
  close(taken);
}

TEST(Unreachable, ATakenPortOfRankZero) {
  if (backends().empty()) GTEST_SKIP() << "built without gloo's headers";
  const StoreHost host;
  GroupOptions options;
  options.timeout = std::chrono::seconds(2);
  try {
    join({0, 1, 0, "127.0.0.1", host.port()}, options, at::kCPU);
    ADD_FAILURE() << "listens where another does";
  } catch (const Error& error) {
    EXPECT_TRUE(holds(error.what(), "choose a free MASTER_PORT")) << error.what();
  }
}

}  // namespace
}  // namespace adagp::parallel

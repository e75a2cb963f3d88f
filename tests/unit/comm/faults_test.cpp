// What the others say when a process of a group dies, stops, hangs or fails. Real processes.

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/teams/comm/group.h"
#include "adagp/teams/comm/store_place.h"
#include "unit/comm/port.h"
#include "unit/comm/processes.h"

namespace adagp::comm {
namespace {

using testing::Port;
using testing::Process;

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The x of "(waited x s".
double waited(const std::string& text) {
  const std::string before = "(waited ";
  const size_t at = text.find(before);
  return at == std::string::npos ? -1 : std::atof(text.c_str() + at + before.size());
}

using Timeout = std::chrono::milliseconds;

constexpr Timeout kLong = testing::kPatience;

class Faults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (backends().empty()) GTEST_SKIP() << "built without gloo's headers";
  }

  void start(int world, const std::vector<std::string>& arguments, Timeout timeout) {
    start_one_by_one(world, world, arguments, timeout);
  }
  void start_one_by_one(int started, int world, const std::vector<std::string>& arguments,
                        Timeout timeout) {
    for (int rank = 0; rank < started; ++rank) {
      members_.push_back(std::make_unique<Process>(
          arguments, Process::Variables{{"RANK", std::to_string(rank)},
                                        {"LOCAL_RANK", std::to_string(rank)},
                                        {"WORLD_SIZE", std::to_string(world)},
                                        {"ADAGP_STORE_FILE", store_->path()},
                                        {"MEMBER_TIMEOUT", std::to_string(timeout.count())},
                                        {"OMP_NUM_THREADS", "1"}}));
    }
  }
  struct Scenario {
    int world;
    std::vector<std::string> arguments;
    int started = world;
  };
  // What rank 0 says, which then ends. A busy machine may need more than a short timeout for the
  // processes to find each other, so it doubles until the message holds what is expected.
  std::string said_by_first(const Scenario& scenario, Timeout& timeout,
                            const std::function<std::string()>& expected) {
    for (;; timeout *= 2) {
      start_one_by_one(scenario.started, scenario.world, scenario.arguments, timeout);
      EXPECT_EQ(members_[0]->wait(), 1);
      const std::string said = members_[0]->errors();
      if (holds(said, expected()) || 2 * timeout > kLong) return said;
      members_.clear();
      store_ = std::make_unique<StoreFile>();
    }
  }
  static std::string within(Timeout timeout) {
    return core::cat(" within ", core::shortest(std::chrono::duration<double>(timeout).count()),
                     " s");
  }
  std::string named(int rank, pid_t pid) { return core::cat("rank ", rank, " (pid ", pid, ")"); }

  std::unique_ptr<StoreFile> store_ = std::make_unique<StoreFile>();
  std::vector<std::unique_ptr<Process>> members_;
};

TEST_F(Faults, NoneWithoutAFault) {
  start(3, {"1", "none"}, kLong);
  for (auto& member : members_) EXPECT_EQ(member->wait(), 0) << member->errors();
}

TEST_F(Faults, AKilledProcessIsNamedAtOnce) {
  start(3, {"1", "kill"}, kLong);
  const pid_t victim = members_[1]->pid();
  EXPECT_EQ(members_[1]->wait(), 128 + SIGKILL);
  for (const int rank : {0, 2}) {
    EXPECT_EQ(members_[rank]->wait(), 1);
    const std::string said = members_[rank]->errors();
    EXPECT_TRUE(holds(said, core::cat("rank ", rank, " of 3: the gradients of batch 3: "))) << said;
    EXPECT_TRUE(holds(said, named(1, victim) + " is gone")) << said;
    EXPECT_FALSE(holds(said, "backtrace") || holds(said, ".cc")) << said;
    EXPECT_LT(waited(said), std::chrono::duration<double>(kLong).count() / 2) << said;
  }
}

TEST_F(Faults, AKilledNeighbourInARingIsNamed) {
  start(3, {"1", "kill", "ring"}, kLong);
  const pid_t victim = members_[1]->pid();
  EXPECT_EQ(members_[2]->wait(), 1);
  const std::string said = members_[2]->errors();
  EXPECT_TRUE(holds(said, "rank 2 of 3: the activations of batch 3: ")) << said;
  EXPECT_TRUE(holds(said, named(1, victim) + " is gone")) << said;
  EXPECT_TRUE(holds(said, "for rank 1; ")) << said;
  EXPECT_EQ(members_[0]->wait(), 1);
}

TEST_F(Faults, AStoppedProcessIsNamedAfterTheTimeout) {
  Timeout timeout = std::chrono::seconds(2);
  const auto expected = [&] { return named(1, members_[1]->pid()) + " is stopped (state T)"; };
  const std::string said = said_by_first({2, {"1", "stop"}}, timeout, expected);
  EXPECT_TRUE(holds(said, expected())) << said;
  EXPECT_GE(waited(said), 0.99 * std::chrono::duration<double>(timeout).count()) << said;
}

TEST_F(Faults, MessagesWaitAsLongAsTheTimeoutSays) {
  // More than the 5 s within which gloo connects.
  Timeout timeout = std::chrono::seconds(6);
  const auto expected = [&] {
    return named(1, members_[1]->pid()) + " is alive but did not answer" + within(timeout);
  };
  const std::string said = said_by_first({2, {"1", "hang", "ring"}}, timeout, expected);
  EXPECT_TRUE(holds(said, expected())) << said;
  EXPECT_GE(waited(said), 0.99 * std::chrono::duration<double>(timeout).count()) << said;
}

TEST_F(Faults, AHangingProcessIsToldFromThoseWhoWaitForIt) {
  Timeout timeout = std::chrono::seconds(2);
  const auto expected = [&] {
    return named(2, members_[2]->pid()) + " is alive but did not answer" + within(timeout);
  };
  const std::string said = said_by_first({3, {"2", "hang"}}, timeout, expected);
  EXPECT_TRUE(holds(said, "the gradients of batch 3: ")) << said;
  EXPECT_TRUE(holds(said, expected())) << said;
  EXPECT_FALSE(holds(said, "rank 1 (pid ")) << said;
  EXPECT_EQ(members_[1]->wait(), 1);
}

TEST_F(Faults, AFailureIsQuotedByTheOthers) {
  start(2, {"0", "diverge"}, kLong);
  const pid_t victim = members_[0]->pid();
  EXPECT_EQ(members_[0]->wait(), 4);
  EXPECT_EQ(members_[1]->wait(), 1);
  const std::string said = members_[1]->errors();
  EXPECT_TRUE(holds(said, named(0, victim) + " said: loss is nan in batch 3")) << said;
}

TEST_F(Faults, ThoseWhoDoNotComeAreNamed) {
  Timeout timeout = std::chrono::seconds(2);
  const auto expected = [&] { return within(timeout) + " 2 came, ranks 2, 3 did not"; };
  const std::string said = said_by_first({4, {"0", "none"}, 2}, timeout, expected);
  EXPECT_TRUE(holds(said, "waiting for 4 processes at the launcher's file: ")) << said;
  EXPECT_TRUE(holds(said, expected())) << said;
}

// Joins with a timeout that is soon over and returns what was said.
std::string refusal(const RankInfo& place, Timeout timeout = std::chrono::milliseconds(300)) {
  GroupOptions options;
  options.timeout = timeout;
  try {
    join(place, options, at::kCPU);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 1);
    return error.what();
  }
  return "joined nobody";
}

TEST(Unreachable, TheMessageHasTheAddressAndWhatIsThere) {
  if (backends().empty()) GTEST_SKIP() << "built without gloo's headers";
  for (const char* agent : {"", "True"}) {  // rank 0's store, torchrun's store
    setenv("TORCHELASTIC_USE_AGENT_STORE", agent, 1);
    const Port port;
    const RankInfo place{1, 2, 1, "127.0.0.1", port.number()};
    const std::string nobody = refusal(place);
    EXPECT_TRUE(holds(nobody, core::cat("no store at 127.0.0.1:", port.number(), " within 0.3 s")))
        << nobody;
    EXPECT_TRUE(holds(nobody, "MASTER_ADDR and MASTER_PORT")) << nobody;
    EXPECT_TRUE(holds(nobody, "nobody answers there")) << nobody;
    EXPECT_FALSE(holds(nobody, "something listens there")) << nobody;
    if (*agent == '\0') continue;
    port.take_connections();
    const std::string deaf = refusal(place);
    EXPECT_TRUE(holds(deaf, core::cat("no store at 127.0.0.1:", port.number()))) << deaf;
    EXPECT_FALSE(holds(deaf, "nobody answers there")) << deaf;
  }
  unsetenv("TORCHELASTIC_USE_AGENT_STORE");
}

TEST(Unreachable, RankZeroOffersItsStoreAtItsAddressAlone) {
  if (backends().empty()) GTEST_SKIP() << "built without gloo's headers";
  const Port port;
  port.take_connections();
  EXPECT_TRUE(holds(refusal({0, 1, 0, "127.0.0.1", port.number()}), "choose a free MASTER_PORT"));
  // An address for documentation alone (RFC 5737): no machine has it.
  const std::string said = refusal({0, 1, 0, "192.0.2.1", port.number()});
  EXPECT_TRUE(holds(said, "192.0.2.1 is no network interface of this machine")) << said;
}

}  // namespace
}  // namespace adagp::comm

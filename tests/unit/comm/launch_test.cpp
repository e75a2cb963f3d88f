#include "adagp/teams/comm/launch.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "adagp/base/core/error.h"
#include "adagp/teams/comm/group.h"
#include "adagp/teams/comm/process_state.h"
#include "unit/comm/processes.h"

namespace adagp::comm {
namespace {

using testing::Process;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Variables of a launcher, gone when the test ends.
class Variables {
 public:
  ~Variables() {
    for (const auto& name : names_) unsetenv(name.c_str());
  }
  void set(const char* name, const char* value) {
    setenv(name, value, 1);
    names_.emplace_back(name);
  }

 private:
  std::vector<std::string> names_;
};

TEST(PlaceOf, TheEnvironment) {
  Variables variables;
  EXPECT_FALSE(launched());
  variables.set("RANK", "3");
  variables.set("WORLD_SIZE", "4");
  variables.set("LOCAL_RANK", "1");
  variables.set("MASTER_ADDR", "node7");
  variables.set("MASTER_PORT", "29500");
  EXPECT_TRUE(launched());
  const RankInfo place = rank_from_environment();
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.world, 4);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.master, "node7");
  EXPECT_EQ(place.port, 29500);
}

std::string place_refusal() {
  try {
    rank_from_environment();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(PlaceOf, AllThatIsMissingInOneMessage) {
  const std::string nothing = place_refusal();
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"}) {
    EXPECT_TRUE(has(nothing, std::string(name) + " is not set")) << nothing;
  }
  EXPECT_TRUE(has(nothing, "torchrun --no-python"));
  EXPECT_TRUE(has(nothing, "--parallel local=4"));
}

TEST(PlaceOf, WrongValuesWithTheirNames) {
  Variables variables;
  variables.set("RANK", "4");
  variables.set("WORLD_SIZE", "4");
  variables.set("LOCAL_RANK", "0");
  variables.set("MASTER_ADDR", "localhost");
  variables.set("MASTER_PORT", "29500");
  EXPECT_TRUE(has(place_refusal(), "RANK=4 is not below WORLD_SIZE=4"));
  variables.set("MASTER_PORT", "70000");
  variables.set("RANK", "one");
  const std::string both = place_refusal();
  EXPECT_TRUE(has(both, "RANK='one' is no whole number")) << both;
  EXPECT_TRUE(has(both, "MASTER_PORT='70000' is no whole number from 1 to 65535")) << both;
}

TEST(Launch, AllWellIsZero) {
  Process parent({"launch", "3", "end", "0", "0", "0"}, {{"OMP_NUM_THREADS", "5"}});
  EXPECT_EQ(parent.wait(), 0) << parent.errors();
  // One standard output, and errors of the others with their rank.
  const std::string out = parent.out(), errors = parent.errors();
  EXPECT_EQ(out.find("pid"), out.rfind("pid"));
  EXPECT_TRUE(has(out, "threads 5"));
  EXPECT_TRUE(has(errors, "[rank 1] says 0\n")) << errors;
  EXPECT_TRUE(has(errors, "[rank 2] says 0\n")) << errors;
  EXPECT_FALSE(has(errors, "[rank 0]")) << errors;
}

TEST(Launch, TheProcessesFindEachOther) {
  if (backends().empty()) GTEST_SKIP() << "built without gloo's headers";
  Process parent({"launch", "3", "0", "none"}, {});
  EXPECT_EQ(parent.wait(), 0) << parent.errors();
}

TEST(Launch, TheFirstFailureIsTheResultAndTheRestIsKilled) {
  Process parent({"launch", "3", "end", "sleep", "3", "sleep"}, {});
  EXPECT_EQ(parent.wait(), 3);
  EXPECT_TRUE(has(parent.errors(), "rank 0, 2 did not stop within 1 s: killed")) << parent.errors();
}

TEST(Launch, AKilledProcessIsNamed) {
  Process parent({"launch", "3", "end", "wait", "wait", "kill"}, {});
  EXPECT_EQ(parent.wait(), 1);
  EXPECT_TRUE(has(parent.errors(), "process of rank 2 was killed by signal 9")) << parent.errors();
}

TEST(Launch, AFailureOfAMemberIsTheResult) {
  if (backends().empty()) GTEST_SKIP() << "built without gloo's headers";
  // Rank 1 must come to say it before it is killed.
  Process parent({"launch", "2", "0", "diverge"}, {{"MEMBER_GRACE", "600"}});
  EXPECT_EQ(parent.wait(), 4) << parent.errors();
  EXPECT_TRUE(has(parent.errors(), "said: loss is nan in batch 3")) << parent.errors();
}

TEST(Launch, SignalsArePassedOn) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Process parent({"launch", "2", "end", "wait", "wait"}, {});
    ASSERT_TRUE(parent.says(1, "pid")) << parent.errors();
    kill(parent.pid(), signal);
    EXPECT_EQ(parent.wait(), 128 + signal) << parent.errors();
  }
}

TEST(Launch, ASignalEndsStuckProcesses) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Process parent({"launch", "2", "end", "sleep", "wait"}, {});
    ASSERT_TRUE(parent.says(1, "pid")) << parent.errors();
    kill(parent.pid(), signal);
    EXPECT_EQ(parent.wait(), 128 + signal) << parent.errors();
    // On a busy machine rank 1 may take longer than a second, too.
    EXPECT_TRUE(has(parent.errors(), " rank 0")) << parent.errors();
    EXPECT_TRUE(has(parent.errors(), "did not stop within 1 s: killed")) << parent.errors();
  }
}

TEST(Launch, ASignalReachesStoppedProcesses) {
  Process parent({"launch", "1", "end", "stop"}, {{"MEMBER_GRACE", "600"}});
  ASSERT_TRUE(parent.says(1, "threads")) << parent.errors();
  const pid_t child = std::atoi(parent.out().substr(4).c_str());
  ASSERT_TRUE(testing::becomes_true([&] { return process_state(child).state == 'T'; }));
  kill(parent.pid(), SIGTERM);
  EXPECT_EQ(parent.wait(), 128 + SIGTERM) << parent.errors();
  EXPECT_FALSE(has(parent.errors(), "killed")) << parent.errors();
}

TEST(Launch, TheThirdSignalEndsBusyProcesses) {
  Process parent({"launch", "1", "end", "spin"}, {});
  ASSERT_TRUE(parent.says(1, "threads")) << parent.errors();
  const pid_t child = std::atoi(parent.out().substr(4).c_str());
  kill(parent.pid(), SIGTERM);
  // Longer than the second that idle processes are given: it computes, and may be about to save.
  const double begun = process_state(child).processor_time;
  ASSERT_TRUE(
      testing::becomes_true([&] { return process_state(child).processor_time > begun + 1.5; }));
  EXPECT_FALSE(parent.ended());
  // Two that are on their way at once may come as one.
  ASSERT_TRUE(testing::becomes_true([&] {
    kill(parent.pid(), SIGINT);
    return parent.ended();
  }));
  EXPECT_EQ(parent.wait(), 128 + SIGINT) << parent.errors();
}

TEST(Launch, ChildrenEndWithTheirParent) {
  Process parent({"launch", "1", "end", "wait"}, {});
  ASSERT_TRUE(parent.says(1, "threads")) << parent.errors();
  const pid_t child = std::atoi(parent.out().substr(4).c_str());
  kill(parent.pid(), SIGKILL);
  EXPECT_EQ(parent.wait(), 128 + SIGKILL);
  EXPECT_TRUE(testing::becomes_true([&] {
    const char state = process_state(child).state;
    return state == '\0' || state == 'Z';
  }));
}

}  // namespace
}  // namespace adagp::comm

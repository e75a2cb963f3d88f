// A process that cannot be started leaves nothing behind.

#include "adagp/teams/comm/child.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "unit/in_child.h"

namespace adagp::comm {
namespace {

enum Outcome { kClean = 0, kLeaks = 1, kStarted = 77 };

// Of a process that may have no children.
int start_without_right() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_NPROC, &none);
  constexpr uid_t kNobody = 65534;
  if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) return kStarted;
  const auto next_descriptor = [] {
    const int made = open("/dev/null", O_RDONLY);
    close(made);
    return made;
  };
  const int before = next_descriptor();
  try {
    start_child({"child", "--gtest_list_tests"}, 1, 2, "");
  } catch (const Error&) {
    return next_descriptor() == before ? kClean : kLeaks;
  }
  return kStarted;
}

TEST(Child, ThatCannotBeStartedLeavesNoPipeOpen) {
  const int outcome = testing::in_child(start_without_right);
  if (outcome == kStarted) GTEST_SKIP() << "this system does not limit the number of processes";
  EXPECT_EQ(outcome, kClean);
}

}  // namespace
}  // namespace adagp::comm

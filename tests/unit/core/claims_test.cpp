#include "adagp/base/core/claims.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "unit/in_child.h"
#include "unit/temp_folder.h"

namespace adagp::core {
namespace {

using testing::in_child;
using testing::TempFolder;

constexpr double kLong = 3600;
constexpr int64_t kHour = 3600;

// A process that takes the claim and then does nothing until it is killed.
class Claimer {
 public:
  Claimer(const fs::path& folder, const std::string& name, bool first_thread_ends = false) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    child_ = ::fork();
    if (child_ == 0) {
      Claims claims(folder, kLong);
      const char taken = claims.take(name) ? 'y' : 'n';
      (void)!::write(ends[1], &taken, 1);
      if (first_thread_ends) ::syscall(SYS_exit, 0);  // the one that renews claims goes on
      for (;;) ::pause();
    }
    char taken = 'n';
    EXPECT_EQ(::read(ends[0], &taken, 1), 1);
    EXPECT_EQ(taken, 'y');
    ::close(ends[0]), ::close(ends[1]);
  }
  ~Claimer() { end(); }
  char state() const {
    const std::string stat = read_file("/proc/" + std::to_string(child_) + "/stat");
    return stat.at(stat.rfind(") ") + 2);
  }
  // Without asking how it ended, it stays a zombie.
  void kill_it() const {
    ::kill(child_, SIGKILL);
    siginfo_t ignored;
    ::waitid(P_PID, static_cast<id_t>(child_), &ignored, WEXITED | WNOWAIT);
  }
  void end() {
    if (child_ > 0) ::kill(child_, SIGKILL), ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }

 private:
  pid_t child_ = -1;
};

// As if renewed so many seconds after the file system's present time.
void set_renewed(const fs::path& file, int64_t seconds_from_now) {
  struct stat status {};
  ::utimensat(AT_FDCWD, file.c_str(), nullptr, 0);
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  const timespec then{status.st_mtim.tv_sec + seconds_from_now, 0};
  const timespec times[2] = {then, then};
  ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
}

void write_claim_of_elsewhere(const fs::path& file) {
  make_folder(file.parent_path());
  Claimant owner = this_process();
  owner.host = "elsewhere";
  owner.boot = "another start";
  write_file(file, claim_text("12ab", owner, {}));
}

TEST(Claims, OneOfTwoProcessesGetsItUntilItIsReleased) {
  const TempFolder folder;
  Claims ours(folder / "c", kLong);
  ASSERT_TRUE(ours.take("a"));
  EXPECT_TRUE(ours.take("a")) << "whoever has it may ask again";
  const auto other = [&](bool expected) {
    return in_child([&] { return Claims(folder / "c", kLong).take("a") == expected ? 0 : 1; });
  };
  EXPECT_EQ(other(false), 0);
  EXPECT_TRUE(fs::exists(folder / "c" / "a")) << "the other one must leave it";
  ours.release("a");
  EXPECT_EQ(other(true), 0);
}

TEST(Claims, LeaveNothingBehind) {
  const TempFolder folder;
  {
    Claims claims(folder / "c", kLong);
    ASSERT_TRUE(claims.take("a"));
    ASSERT_TRUE(claims.take("b"));
    claims.release("a");
    EXPECT_FALSE(fs::exists(folder / "c" / "a"));
  }
  EXPECT_FALSE(fs::exists(folder / "c"));
}

TEST(Claims, OfALiveProcessOfThisMachineCountsHoweverOldItIs) {
  const TempFolder folder;
  const Claimer other(folder / "c", "a");
  set_renewed(folder / "c" / "a", -100 * kHour);
  EXPECT_FALSE(Claims(folder / "c", 1).take("a"));
}

// As a killed process on a busy machine: its first thread has ended, the last one still has its
// locks.
TEST(Claims, OfAProcessCountsAsLongAsOneThreadLives) {
  const TempFolder folder;
  const Claimer other(folder / "c", "a", true);
  while (other.state() != 'Z') ::usleep(1000);
  EXPECT_FALSE(Claims(folder / "c", kLong).take("a"));
}

TEST(Claims, OfAKilledProcessCountsForNothingAtOnce) {
  const TempFolder folder;
  Claimer other(folder / "c", "a");
  other.kill_it();
  EXPECT_TRUE(Claims(folder / "c", kLong).take("a")) << "a zombie";
  Claimer next(folder / "c", "a");
  next.end();
  EXPECT_TRUE(Claims(folder / "c", kLong).take("a"));
  EXPECT_FALSE(fs::exists(folder / "c")) << "what the killed ones left is removed";
}

TEST(Claims, OfAnotherMachineCountUntilTheyAreOldByTheFileSystemsClock) {
  const TempFolder folder;
  const fs::path file = folder / "c" / "a";
  write_claim_of_elsewhere(file);
  {
    Claims claims(folder / "c", kHour / 2);
    EXPECT_FALSE(claims.take("a"));
    const auto others = claims.others();
    ASSERT_EQ(others.size(), 1U);
    EXPECT_NE(others[0].who.find("on elsewhere, renewed"), std::string::npos) << others[0].who;
    // A clock that was an hour ahead when it wrote: not old, and never "minus an hour" old.
    set_renewed(file, kHour);
    EXPECT_FALSE(claims.take("a"));
    set_renewed(file, -kHour);
    EXPECT_TRUE(claims.others().empty());
    EXPECT_TRUE(claims.take("a"));
  }
  EXPECT_FALSE(fs::exists(file));
}

TEST(Claims, GarbageIsJudgedByItsAge) {
  const TempFolder folder;
  const fs::path file = folder / "c" / "a";
  for (const std::string text :
       {"", "no JSON", "[1, 2]", R"({"pid": "many"})",
        R"({"host":"","boot":"","space":"","pid":1,"started":1,"claim":"../x"})"}) {
    make_folder(folder / "c");  // the round before has left nothing
    write_file(file, text);
    Claims claims(folder / "c", kHour / 2);
    EXPECT_FALSE(claims.take("a")) << text;
    set_renewed(file, -kHour);
    EXPECT_TRUE(claims.take("a")) << text;
  }
}

TEST(Claims, APipeInPlaceOfAClaimBlocksNobody) {
  const TempFolder folder;
  make_folder(folder / "c");
  ASSERT_EQ(::mkfifo((folder / "c" / "a").c_str(), 0600), 0);
  Claims claims(folder / "c", kLong);
  EXPECT_FALSE(claims.take("a"));
}

TEST(Claims, OfManyThatTakeOverADeadOneExactlyOneGetsIt) {
  const TempFolder folder;
  constexpr int kRounds = 20, kProcesses = 6;
  for (int round = 0; round < kRounds; ++round) {
    Claimer dead(folder / "c", "a");
    dead.end();
    int go[2], done[2];
    ASSERT_EQ(::pipe(go), 0);
    ASSERT_EQ(::pipe(done), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
      children.push_back(::fork());
      if (children.back() != 0) continue;
      char byte = 0;
      ::close(go[1]), ::close(done[0]);
      (void)!::read(go[0], &byte, 1);  // until all are there
      Claims claims(folder / "c", kLong);
      byte = claims.take("a") ? 'y' : 'n';
      (void)!::write(done[1], &byte, 1);
      for (;;) ::pause();  // whoever has it keeps it
    }
    ::close(go[0]), ::close(go[1]), ::close(done[1]);
    int taken = 0;
    for (int i = 0; i < kProcesses; ++i) {
      char byte = 0;
      ASSERT_EQ(::read(done[0], &byte, 1), 1);
      taken += byte == 'y' ? 1 : 0;
    }
    ::close(done[0]);
    for (const pid_t child : children) ::kill(child, SIGKILL), ::waitpid(child, nullptr, 0);
    EXPECT_EQ(taken, 1) << "round " << round;
  }
}

TEST(Claims, AFolderThatCannotBeWrittenIsRefusedWithTheReason) {
  Claims claims("/proc/adagp-claims", kLong);
  try {
    claims.take("a");
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/proc/adagp-claims"), std::string::npos);
  }
}

TEST(Claims, ANewerClaimIsNotTakenForItsDeadPredecessor) {
  const TempFolder folder;
  write_claim_of_elsewhere(folder / "c" / "a");
  set_renewed(folder / "c" / "a", -kHour);
  // Another one has the right to take this one over, and is at it.
  Claims right(folder / "c", kLong);
  ASSERT_TRUE(right.take("a.12ab"));
  EXPECT_EQ(in_child([&] { return Claims(folder / "c", 1).take("a") ? 1 : 0; }), 0);
}

}  // namespace
}  // namespace adagp::core

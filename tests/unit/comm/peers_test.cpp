// What is said of processes that do not come, when the store itself fails in the middle of the
// answer.

#include "adagp/teams/comm/peers.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "unit/patience.h"

namespace adagp::comm {
namespace {

// Rank 0 is missing. Of rank 1 there is no answer: an error, or silence until release().
class HalfStore : public c10d::Store {
 public:
  explicit HalfStore(bool silent) : silent_(silent) {}

  bool check(const std::vector<std::string>& keys) override {
    if (keys.at(0) == "here/0") return false;
    std::unique_lock lock(mutex_);
    if (!silent_) throw std::runtime_error("the connection is closed");
    released_.wait(lock, [&] { return released_now_; });
    done_ = true;
    released_.notify_all();
    return false;
  }
  // Waits for the thread that asked.
  void release() {
    std::unique_lock lock(mutex_);
    released_now_ = true;
    released_.notify_all();
    released_.wait(lock, [&] { return done_; });
  }

  void wait(const std::vector<std::string>&) override { throw std::runtime_error("too late"); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
    wait(keys);
  }
  void set(const std::string&, const std::vector<uint8_t>&) override {}
  std::vector<uint8_t> get(const std::string&) override { return {}; }
  std::vector<uint8_t> compareSet(const std::string&, const std::vector<uint8_t>&,
                                  const std::vector<uint8_t>& value) override {
    return value;
  }
  int64_t add(const std::string&, int64_t) override { return 0; }
  bool deleteKey(const std::string&) override { return false; }
  int64_t getNumKeys() override { return 0; }
  c10::intrusive_ptr<Store> clone() override { return nullptr; }

 private:
  const bool silent_;
  std::mutex mutex_;
  std::condition_variable released_;
  bool released_now_ = false, done_ = false;
};

std::string said_with(const c10::intrusive_ptr<HalfStore>& store) {
  RankInfo info;
  info.rank = 2;
  info.world = 3;
  try {
    const Peers peers(store, info, this_process(), std::chrono::milliseconds(10));
  } catch (const PeerError& error) {
    return error.what();
  }
  return "all came";
}

// Of two processes that are there, and rank 1 was told of three.
class TwoOfThree : public c10d::HashStore {
 public:
  std::vector<uint8_t> compareSet(const std::string& key, const std::vector<uint8_t>& expected,
                                  const std::vector<uint8_t>& value) override {
    std::vector<uint8_t> other = value;
    other.back() = '3';  // the number of processes comes last
    c10d::HashStore::set("here/1", other);
    return c10d::HashStore::compareSet(key, expected, value);
  }
};

// On a machine that has no time for it.
class SlowStore : public c10d::HashStore {
 public:
  void set(const std::string& key, const std::vector<uint8_t>& value) override {
    if (key.starts_with("failed/")) std::this_thread::sleep_for(std::chrono::milliseconds(1300));
    c10d::HashStore::set(key, value);
  }
};

TEST(Peers, AMessageIsWaitedForAsTheTimeoutAllows) {
  const auto store = c10::make_intrusive<SlowStore>();
  RankInfo info;
  info.world = 1;
  const Peers peers(store, info, this_process(), testing::kPatience);
  peers.tell("loss is nan");
  EXPECT_TRUE(store->check({"failed/0"})) << "the process would have ended before it was told";
}

TEST(Peers, AnotherNumberOfProcessesIsNamed) {
  RankInfo info;
  info.world = 2;
  try {
    const Peers peers(c10::make_intrusive<TwoOfThree>(), info, this_process(),
                      std::chrono::milliseconds(1000));
    FAIL() << "accepted";
  } catch (const PeerError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("rank 1 was started with WORLD_SIZE=3"), std::string::npos) << text;
    EXPECT_NE(text.find("this process with WORLD_SIZE=2"), std::string::npos) << text;
  }
}

TEST(Peers, ARankThatIsThereAlreadyIsAnotherRuns) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  RankInfo info;
  info.world = 1;
  const auto come = [&](int pid) {
    Peer self = this_process();
    self.pid = pid;
    const Peers peers(store, info, self, std::chrono::milliseconds(1000));
  };
  EXPECT_NO_THROW(come(17));
  try {
    come(18);
    FAIL() << "accepted";
  } catch (const PeerError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("another process is rank 0 already (pid 17"), std::string::npos) << text;
    EXPECT_NE(text.find("MASTER_PORT"), std::string::npos) << text;
  }
}

// Half of an answer would blame rank 0 and say that the others came.
TEST(Peers, HalfAnAnswerOfTheStoreBlamesNobody) {
  for (const bool silent : {false, true}) {
    const auto store = c10::make_intrusive<HalfStore>(silent);
    const std::string said = said_with(store);
    EXPECT_NE(said.find("rank 2 of 3: waiting for 3 processes"), std::string::npos) << said;
    EXPECT_NE(said.find("not all of them came (too late)"), std::string::npos) << said;
    if (silent) store->release();
  }
}

}  // namespace
}  // namespace adagp::comm

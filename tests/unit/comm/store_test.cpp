// The store of a run: what it keeps, and what those cannot do who do not belong to the run. Every
// wait here ends: by the store's own deadlines, which are short where they are tested, or after
// kPatience.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "adagp/base/core/error.h"
#include "adagp/base/core/sha256.h"
#include "adagp/base/core/text.h"
#include "adagp/teams/comm/store_client.h"
#include "adagp/teams/comm/store_server.h"
#include "unit/comm/sockets.h"

namespace adagp::comm {
namespace {

using std::chrono::milliseconds;
using testing::new_socket;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kPatience{600000};  // a defect, not a slow machine

// A store and those who disturb it.
class Stores : public ::testing::Test {
 protected:
  void start(StoreLimits limits = {}) {
    server_ = std::make_unique<StoreServer>(listen_at(endpoint_, false), secret_, limits);
  }
  StoreClient client() { return {endpoint_, secret_, kPatience}; }

  Descriptor stranger(const std::string& says = "") {
    std::string reason;
    Descriptor made = connect_to(endpoint_, Clock::now() + kPatience, reason);
    EXPECT_TRUE(made.open()) << reason;
    if (!says.empty()) say(made, says);
    return made;
  }
  // One who knows the secret, speaks by hand from here on.
  Descriptor member(const std::string& says) {
    Descriptor made = stranger();
    EXPECT_TRUE(greet(made));
    put(made, says);
    return made;
  }
  // False: the store closed the connection meanwhile.
  bool greet(const Descriptor& made) {
    const std::string nonce(kNonceBytes, 'n');
    say(made, std::string(kMagic) + nonce);
    const std::string answer = take(made, kMagic.size() + kNonceBytes);
    if (answer.size() < kMagic.size() + kNonceBytes) return false;
    const std::string theirs = answer.substr(kMagic.size());
    say(made, proof(Side::kClient, secret_, nonce, theirs));
    return take(made, kProofBytes) == proof(Side::kStore, secret_, nonce, theirs);
  }
  // The store may have closed by now: that is what some tests wait for.
  static void say(const Descriptor& to, const std::string& bytes) {
    (void)send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  static void put(const Descriptor& to, const std::string& bytes) {
    EXPECT_EQ(send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // All that comes until `count` bytes are there or the store closes.
  static std::string take(const Descriptor& from, size_t count) {
    std::string bytes;
    char byte = 0;
    while (bytes.size() < count && wait_ready(from.get(), POLLIN, Clock::now() + kPatience) &&
           recv(from.get(), &byte, 1, 0) == 1) {
      bytes += byte;
    }
    return bytes;
  }
  // Waits for the store to close the connection; false: it did not.
  static bool closed(const Descriptor& connection) {
    char byte = 0;
    while (wait_ready(connection.get(), POLLIN, Clock::now() + kPatience)) {
      if (recv(connection.get(), &byte, 1, 0) <= 0) return true;
    }
    return false;
  }
  // Whether the run's own processes are served as if nobody else were there.
  void expect_service() {
    StoreClient one = client(), two = client();
    one.set("here", "yes", kPatience);
    EXPECT_TRUE(two.wait({"here"}, kPatience));
    EXPECT_EQ(two.get("here", kPatience).value_or(""), "yes");
  }

  Endpoint endpoint_ = new_socket();
  std::string secret_ = "the secret of this run";
  std::unique_ptr<StoreServer> server_;
};

std::string length_prefix(uint32_t length) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(length >> (8 * i));
  return bytes;
}

TEST_F(Stores, KeepWhatC10dAsksFor) {
  start();
  StoreClient store = client();
  EXPECT_FALSE(store.check({"a"}, kPatience));
  EXPECT_FALSE(store.get("a", kPatience).has_value());
  const std::string bytes("\0\xff a value", 10);
  store.set("a", bytes, kPatience);
  EXPECT_EQ(store.get("a", kPatience).value_or(""), bytes);
  store.set("b", "", kPatience);
  EXPECT_TRUE(store.check({"a", "b"}, kPatience));
  EXPECT_FALSE(store.check({"a", "c"}, kPatience));
  store.append("b", "x", kPatience);
  store.append("b", "y", kPatience);
  EXPECT_EQ(store.get("b", kPatience).value_or(""), "xy");
  EXPECT_EQ(store.add("n", 5, kPatience), 5);
  EXPECT_EQ(store.add("n", -7, kPatience), -2);
  EXPECT_EQ(store.get("n", kPatience).value_or(""), "-2");
  EXPECT_EQ(store.count(kPatience), 3);
  EXPECT_TRUE(store.remove("n", kPatience));
  EXPECT_FALSE(store.remove("n", kPatience));
  // The rules of c10d's compareSet.
  EXPECT_EQ(store.compare_set("k", "old", "new", kPatience), "old");
  EXPECT_FALSE(store.check({"k"}, kPatience));
  EXPECT_EQ(store.compare_set("k", "", "new", kPatience), "new");
  EXPECT_EQ(store.compare_set("k", "other", "newer", kPatience), "new");
  EXPECT_EQ(store.compare_set("k", "new", "newer", kPatience), "newer");
}

TEST_F(Stores, WaitUntilAllKeysAreThere) {
  start();
  StoreClient waits = client(), sets = client();
  EXPECT_FALSE(waits.wait({"a"}, milliseconds(20)));
  std::thread other([&] {
    sets.set("a", "1", kPatience);
    sets.set("b", "1", kPatience);
  });
  EXPECT_TRUE(waits.wait({"a", "b"}, kPatience));
  other.join();
  EXPECT_TRUE(waits.wait({"a"}, milliseconds(0)));
}

TEST_F(Stores, AreGoneWithTheirObject) {
  start();
  StoreClient store = client();
  store.set("a", "1", kPatience);
  server_.reset();
  EXPECT_THROW(store.check({"a"}, kPatience), Error);
  EXPECT_THROW(store.set("a", "2", kPatience), Error);
  start();  // the name is free again
  EXPECT_FALSE(client().check({"a"}, kPatience));
}

TEST_F(Stores, SilentConnectionsEndAndHinderNobody) {
  StoreLimits limits;
  limits.greeting = milliseconds(1000);
  start(limits);
  const Descriptor silent = stranger();
  const Descriptor slow = stranger(std::string(kMagic.substr(0, 3)));
  EXPECT_TRUE(closed(silent));
  EXPECT_TRUE(closed(slow));
  server_.reset();
  start();  // with the usual deadline, while they hang on
  const Descriptor again = stranger(), also = stranger(std::string(kMagic));
  expect_service();
}

TEST_F(Stores, SayNothingToOtherProtocols) {
  start();
  for (const std::string& says :
       std::vector<std::string>{"GET / HTTP/1.1\r\n\r\n", length_prefix(100) + "abc",
                                length_prefix(0xffffffff) + "abc"}) {
    const Descriptor wrong = stranger(says);
    EXPECT_EQ(take(wrong, 1), "") << says;
    expect_service();
  }
}

TEST_F(Stores, SayNothingWithoutTheSecret) {
  start();
  const std::string nonce(kNonceBytes, 'n');
  for (const char* secret : {"", "the secret of that run"}) {
    const Descriptor wrong = stranger(std::string(kMagic) + nonce);
    const std::string theirs = take(wrong, kMagic.size() + kNonceBytes).substr(kMagic.size());
    // The question is sent along; neither it nor the proof has an answer.
    const std::string question = Writer(static_cast<uint8_t>(Op::kCount)).message();
    put(wrong, proof(Side::kClient, secret, nonce, theirs) + question);
    EXPECT_EQ(take(wrong, 1), "");
  }
  // An answer of the past proves nothing: the store's nonce is new every time.
  EXPECT_NE(take(stranger(std::string(kMagic) + nonce), kMagic.size() + kNonceBytes),
            take(stranger(std::string(kMagic) + nonce), kMagic.size() + kNonceBytes));
  try {
    const StoreClient wrong(endpoint_, "the secret of that run", kPatience);
    ADD_FAILURE() << "let in";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("ADAGP_STORE_SECRET"), std::string::npos);
  }
  expect_service();
}

// Bytes of memory that belong to this process.
double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

TEST_F(Stores, TakeMessagesOfABoundedLength) {
  start();
  const double before = resident_bytes();
  const Descriptor huge = member(length_prefix(0xf0000000));
  EXPECT_TRUE(closed(huge));
  const Descriptor one_more = member(length_prefix(kLongestMessage + 1));
  EXPECT_TRUE(closed(one_more));
  EXPECT_LT(resident_bytes() - before, 256e6);  // 4 GB were announced
  StoreClient store = client();
  EXPECT_THROW(store.set("a", std::string(kLongestMessage, 'a'), kPatience), Error);
  store.set("a", std::string(kLongestMessage - 100, 'a'), kPatience);
  EXPECT_EQ(store.get("a", kPatience)->size(), kLongestMessage - 100);
}

TEST_F(Stores, DropWhatIsMalformed) {
  start();
  const auto request = [](Op op) { return Writer(static_cast<uint8_t>(op)); };
  const std::string a_key_of_4_gb("\x01\xff\xff\xff\xffkey", 8);  // 1: Op::kGet
  for (const std::string& says : std::vector<std::string>{
           length_prefix(0), length_prefix(1) + "\x7f", length_prefix(8) + a_key_of_4_gb,
           request(Op::kSet).text("key").message(),
           request(Op::kGet).text("key").text("left over").message()}) {
    EXPECT_TRUE(closed(member(says))) << core::hex(says);
    expect_service();
  }
  StoreClient store = client();
  store.set("word", "one", kPatience);
  EXPECT_THROW(store.add("word", 1, kPatience), Error);
  expect_service();
}

TEST_F(Stores, GiveUpAMessageThatDoesNotEnd) {
  StoreLimits limits;
  limits.message = milliseconds(1000);  // also for the greeting, which must succeed
  start(limits);
  Descriptor slow = stranger();
  while (!greet(slow)) {  // on a busy machine it may take longer
    limits.message *= 2;
    ASSERT_LT(limits.message, kPatience);
    server_.reset();
    start(limits);
    slow = stranger();
  }
  say(slow, length_prefix(100) + "abc");
  EXPECT_TRUE(closed(slow));
  server_.reset();
  start();
  const Descriptor again = member(length_prefix(100) + "abc");
  expect_service();
}

TEST_F(Stores, AreNotFullOfStrangers) {
  StoreLimits limits;
  limits.strangers = 8;
  start(limits);
  std::vector<Descriptor> crowd;
  for (int i = 0; i < 40; ++i) crowd.push_back(stranger());
  expect_service();
  EXPECT_TRUE(closed(crowd.front()));  // the oldest go first
}

TEST_F(Stores, HoldABoundedAmount) {
  StoreLimits limits;
  limits.bytes = 1100;
  start(limits);
  StoreClient store = client();
  store.set("a", std::string(900, 'a'), kPatience);
  EXPECT_THROW(store.set("b", std::string(900, 'b'), kPatience), Error);
  EXPECT_THROW(store.append("a", std::string(900, 'b'), kPatience), Error);
  store.set("a", std::string(950, 'a'), kPatience);  // instead of the other
  EXPECT_TRUE(store.remove("a", kPatience));
  store.set("b", std::string(900, 'b'), kPatience);
  EXPECT_THROW(store.set("c", "", kPatience), Error);  // empty values take room, too
}

}  // namespace
}  // namespace adagp::comm

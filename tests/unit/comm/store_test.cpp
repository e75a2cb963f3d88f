// The store of a run, and what those cannot do who do not belong to the run. A test that hangs is
// ended by kPatience.

#include "adagp/teams/comm/store.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/teams/comm/store_place.h"
#include "unit/comm/port.h"
#include "unit/in_child.h"
#include "unit/patience.h"

namespace adagp::comm {
namespace {

using testing::kPatience;

std::string text_of(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

// What c10d and Peers ask of a store, between the stores of two processes.
void expect_service(const StorePtr& one, const StorePtr& other) {
  EXPECT_FALSE(one->check({"early"}));
  one->set("word", std::string("yes"));
  other->wait({"word"});
  EXPECT_EQ(text_of(other->get("word")), "yes");
  EXPECT_EQ(one->add("count", 5) + other->add("count", 2), 12);
  EXPECT_TRUE(other->deleteKey("word") && other->deleteKey("count"));
  EXPECT_FALSE(one->check({"word"}));
  EXPECT_ANY_THROW(one->wait({"never"}, std::chrono::milliseconds(20)));
}

TEST(FileOfARun, ServesItsProcesses) {
  const StoreFile file;
  const auto store_of = [&](int rank) {
    return open_store({rank, 2, rank, "127.0.0.1", 0, file.path()}, kPatience);
  };
  expect_service(store_of(0), store_of(1));
  const StoreFile another;
  EXPECT_EQ(open_store({0, 1, 0, "127.0.0.1", 0, another.path()}, kPatience)->add("count", 1), 1);
}

TEST(FileOfARun, IsClosedToOtherUsers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const StoreFile file;
  const std::string number = file.path().substr(file.path().rfind('/'));
  const std::string outside = core::cat("/proc/", getpid(), "/fd", number);
  const auto opens = [&] { return open(outside.c_str(), O_RDWR) >= 0 ? 0 : errno; };
  EXPECT_EQ(testing::in_child(opens), 0);
  EXPECT_EQ(testing::in_child([&] {
              constexpr uid_t kNobody = 65534;
              return setresuid(kNobody, kNobody, kNobody) == 0 ? opens() : 0;
            }),
            EACCES);
}

// The store in the process of rank 0, on a port that was free a moment ago.
struct Served {
  Served() {
    for (int tries = 0; tries < 20 && first == nullptr; ++tries) {
      place.port = testing::Port().number();
      try {
        first = open_store(place, kPatience);
      } catch (const Error&) {  // somebody else took it
      }
    }
  }
  StorePtr second() const {
    RankInfo other = place;
    other.rank = 1;
    return open_store(other, kPatience);
  }
  RankInfo place{0, 2, 0, "127.0.0.1", 0};
  StorePtr first;
};

// One who connects, says this and stays.
Descriptor stranger(const std::string& address, int port, const std::string& says) {
  Descriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, address.c_str(), &to.sin_addr);
  if (connect(made.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) return Descriptor();
  (void)send(made.get(), says.data(), says.size(), MSG_NOSIGNAL);
  return made;
}

// Bytes of memory that belong to this process.
double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

TEST(StoreOfRankZero, ServesTheOthersAmongStrangers) {
  const Served served;
  ASSERT_NE(served.first, nullptr);
  const double before = resident_bytes();
  // c10d's greeting, then each of its requests with a length of 4 GB, or cut short.
  const std::string greeting("\x00\xce\xf7\x85\x3c", 5),
      huge("\x00\x00\x00\xf0\x00\x00\x00\x00", 8);
  std::vector<std::string> texts{"", "GET / HTTP/1.1\r\n\r\n", std::string(100, '\xff'), greeting};
  for (char request = 0; request < 16; ++request) {
    texts.push_back(greeting + request + huge + "key");
    texts.push_back(greeting + request + std::string(64, '\xff'));
  }
  std::vector<Descriptor> crowd;
  for (const auto& text : texts) {
    crowd.push_back(stranger("127.0.0.1", served.place.port, text));
    EXPECT_TRUE(crowd.back().open());
  }
  for (int i = 0; i < 200; ++i) crowd.push_back(stranger("127.0.0.1", served.place.port, ""));
  expect_service(served.first, served.second());
  crowd.clear();
  expect_service(served.first, served.second());
  EXPECT_LT(resident_bytes() - before, 1e9);
}

TEST(StoreOfRankZero, IsOnItsOwnInterfaceAlone) {
  const Served served;
  ASSERT_NE(served.first, nullptr);
  EXPECT_TRUE(stranger("127.0.0.1", served.place.port, "").open());
  EXPECT_FALSE(stranger("127.0.0.2", served.place.port, "").open());
}

TEST(Loopback, Names) {
  for (const char* name : {"localhost", "127.0.0.1", "127.0.1.1", "::1"}) {
    EXPECT_TRUE(on_this_machine(name)) << name;
  }
  for (const char* name : {"node7", "10.0.0.1", "127.0.0.1.example.org", ""}) {
    EXPECT_FALSE(on_this_machine(name)) << name;
  }
}

}  // namespace
}  // namespace adagp::comm

// Where a store listens and how its clients find it.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <functional>
#include <thread>

#include "adagp/base/core/error.h"
#include "adagp/teams/comm/store_client.h"
#include "adagp/teams/comm/store_server.h"
#include "unit/comm/sockets.h"

namespace adagp::comm {
namespace {

using testing::new_socket;

constexpr std::chrono::minutes kSocketPatience{10};  // a defect, not a slow machine

std::string socket_refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "done";
}

TEST(StoreSockets, AnImpostorIsFoundOut) {
  // It listens where the run's store should and takes every proof, but has none of its own.
  const Endpoint endpoint = new_socket();
  const Descriptor listener = listen_at(endpoint, false);
  std::thread impostor([&] {
    ASSERT_TRUE(
        wait_ready(listener.get(), POLLIN, std::chrono::steady_clock::now() + kSocketPatience));
    const Descriptor client(accept(listener.get(), nullptr, nullptr));
    std::string bytes(kMagic.size() + kNonceBytes + kProofBytes, '\0');
    const std::string greeting = std::string(kMagic) + std::string(kNonceBytes, 'n');
    EXPECT_GT(recv(client.get(), bytes.data(), kMagic.size() + kNonceBytes, MSG_WAITALL), 0);
    EXPECT_GT(send(client.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL), 0);
    EXPECT_GT(recv(client.get(), bytes.data(), kProofBytes, MSG_WAITALL), 0);
    EXPECT_GT(send(client.get(), bytes.data(), kProofBytes, MSG_NOSIGNAL), 0);
    EXPECT_EQ(recv(client.get(), bytes.data(), 1, MSG_WAITALL), 0);  // no question comes
  });
  const std::string said =
      socket_refusal([&] { StoreClient(endpoint, "a secret", kSocketPatience); });
  EXPECT_NE(said.find("does not know this run's secret"), std::string::npos) << said;
  impostor.join();
}

TEST(StoreSockets, OneListensAtAName) {
  const Endpoint endpoint = new_socket();
  const Descriptor first = listen_at(endpoint, false);
  EXPECT_NE(socket_refusal([&] { listen_at(endpoint, false); }).find("in use"), std::string::npos);
}

TEST(StoreSockets, OverTcpToo) {
  // On a machine without a network there is the loopback interface alone, which listen_at takes
  // for a host's private name for itself; "anywhere" includes it.
  Endpoint endpoint{"", "127.0.0.1", testing::Port().number()};
  EXPECT_NE(socket_refusal([&] { listen_at(endpoint, false); }).find("loopback"),
            std::string::npos);
  Descriptor listening;
  for (int tries = 0; tries < 20 && !listening.open(); ++tries) {  // others may take the port first
    endpoint.port = testing::Port().number();
    socket_refusal([&] { listening = listen_at(endpoint, true); });
  }
  ASSERT_TRUE(listening.open());
  const StoreServer server(std::move(listening), "a secret for this test");
  StoreClient store(endpoint, "a secret for this test", kSocketPatience);
  store.set("a", "1", kSocketPatience);
  EXPECT_TRUE(store.check({"a"}, kSocketPatience));
}

TEST(StoreSockets, NobodyThereIsSaidSo) {
  const testing::Port port;
  for (const Endpoint& endpoint : {new_socket(), Endpoint{"", "127.0.0.1", port.number()}}) {
    const std::string said =
        socket_refusal([&] { StoreClient(endpoint, "s", std::chrono::milliseconds(50)); });
    EXPECT_NE(said.find("nobody answers there"), std::string::npos) << said;
    EXPECT_EQ(said.find("something listens"), std::string::npos) << said;
  }
}

TEST(StoreSockets, SomebodyElseIsSaidSo) {
  const Endpoint endpoint = new_socket();
  const Descriptor deaf = listen_at(endpoint, false);
  const std::string said =
      socket_refusal([&] { StoreClient(endpoint, "s", std::chrono::milliseconds(50)); });
  EXPECT_NE(said.find("something listens there"), std::string::npos) << said;
}

TEST(StoreSockets, LoopbackNames) {
  for (const char* name : {"localhost", "127.0.0.1", "127.0.1.1", "::1"}) {
    EXPECT_TRUE(on_this_machine(name)) << name;
  }
  for (const char* name : {"node7", "10.0.0.1", "127.0.0.1.example.org", ""}) {
    EXPECT_FALSE(on_this_machine(name)) << name;
  }
}

}  // namespace
}  // namespace adagp::comm

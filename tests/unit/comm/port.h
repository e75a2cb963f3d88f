#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "adagp/teams/comm/store_place.h"

namespace adagp::testing {

// A port of 127.0.0.1: bound, so that nobody else gets it while this is alive.
class Port {
 public:
  Port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(socket_.get(), generic, size), 0);
    EXPECT_EQ(getsockname(socket_.get(), generic, &size), 0);
    number_ = ntohs(address.sin_port);
  }
  int number() const { return number_; }
  // From now on it takes connections and never answers.
  void take_connections() const { EXPECT_EQ(listen(socket_.get(), 8), 0); }

 private:
  comm::Descriptor socket_;
  int number_ = 0;
};

}  // namespace adagp::testing

#pragma once
// The store through which the processes of a run find each other: keys and values in memory. No
// torch here.

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "adagp/teams/comm/socket.h"

namespace adagp::comm {

// What those who have not proved anything, and those who have, may take. Clients of this program
// need milliseconds; the times are for machines that are much too busy.
struct StoreLimits {
  std::chrono::milliseconds greeting{30000};  // from the connection to the proof of the secret
  std::chrono::milliseconds message{30000};   // from the first byte of a message to its last
  size_t strangers = 128;                     // connections without a proof; the oldest goes first
  size_t bytes = size_t{64} << 20;            // of all keys and values
};

// Serves in a thread of its own for as long as the object lives. It never waits for one client:
// whoever is slow, silent or wrong loses the connection and hinders nobody.
class StoreServer {
 public:
  StoreServer(Descriptor listener, std::string secret, StoreLimits limits = {});
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

 private:
  class Loop;
  Descriptor stop_;  // an eventfd
  std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

// A launcher's: on a Unix socket of a new name, with a new secret.
struct StoreHost {
  StoreHost();
  Endpoint endpoint;
  std::string secret;
  StoreServer server;
};

}  // namespace adagp::comm

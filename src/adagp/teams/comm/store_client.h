#pragma once
// A process's connection to the run's store. No torch here.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adagp/teams/comm/socket.h"
#include "adagp/teams/comm/store_protocol.h"

namespace adagp::comm {

// Not for two threads at once. After an error the connection is closed and every call throws Error.
class StoreClient {
 public:
  // Tries until `timeout` is over. Throws Error with the reason: nobody there, somebody who is no
  // store of this program, or one with another secret.
  StoreClient(const Endpoint& endpoint, std::string secret, std::chrono::milliseconds timeout);

  // Each waits at most `limit` for its answer, `wait` that much longer than the store should.
  void set(const std::string& key, std::string_view value, std::chrono::milliseconds limit);
  void append(const std::string& key, std::string_view value, std::chrono::milliseconds limit);
  std::optional<std::string> get(const std::string& key, std::chrono::milliseconds limit);
  int64_t add(const std::string& key, int64_t value, std::chrono::milliseconds limit);
  std::string compare_set(const std::string& key, std::string_view expected,
                          std::string_view wanted, std::chrono::milliseconds limit);
  bool check(const std::vector<std::string>& keys, std::chrono::milliseconds limit);
  // False: not all were there in time.
  bool wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout);
  bool remove(const std::string& key, std::chrono::milliseconds limit);
  int64_t count(std::chrono::milliseconds limit);

 private:
  enum class Greeting { kDone, kNoStore, kClosed, kRefused, kImpostor };
  Greeting greet(TimePoint deadline);
  // What follows the answer's status; nothing: the answer is no.
  std::optional<std::string> ask(const Writer& request, std::chrono::milliseconds limit);
  bool send_all(std::string_view bytes, TimePoint deadline);
  // The next `count` bytes, or fewer when the store went away or the deadline came.
  std::string receive(size_t count, TimePoint deadline);

  std::string secret_;
  Descriptor socket_;
};

}  // namespace adagp::comm

#pragma once
// Sockets of the store: an abstract Unix socket where all processes are on one machine, TCP
// elsewhere. No torch here.

#include <chrono>
#include <string>

namespace adagp::comm {

using TimePoint = std::chrono::steady_clock::time_point;

// Where a store listens.
struct Endpoint {
  std::string socket;  // name of an abstract Unix socket; empty: host and port
  std::string host;
  int port = 0;
};

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;

  int get() const { return number_; }
  bool open() const { return number_ >= 0; }
  int release();

 private:
  int number_;
};

// Whether a host's name is the loopback interface's.
bool on_this_machine(const std::string& host);

// Listens there without blocking: on a Unix socket, or on the host's own interface and no other.
// When that host is no interface of this machine (an address of a router or a container's host),
// listens on all, which `anywhere` must allow. Throws Error with the system's reason.
Descriptor listen_at(const Endpoint& endpoint, bool anywhere);

// Whether the process at the other end of a Unix socket is of this user; true for TCP.
bool of_this_user(int descriptor);

// Tries until `deadline`; the socket does not block. Not open: nobody took the connection, and
// `reason` says what the system said last.
Descriptor connect_to(const Endpoint& endpoint, TimePoint deadline, std::string& reason);

// Waits until a socket can be read or written (POLLIN, POLLOUT) or is closed. False: the deadline
// came first.
bool wait_ready(int descriptor, short events, TimePoint deadline);

}  // namespace adagp::comm

#include "adagp/teams/comm/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::comm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kStream = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr std::chrono::milliseconds kRetry{20};

struct Address {
  int family = AF_UNIX;
  sockaddr_storage bytes{};
  socklen_t size = 0;
  const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  bool loopback() const {
    if (family == AF_INET) {
      const auto* v4 = reinterpret_cast<const sockaddr_in*>(&bytes);
      return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&bytes);
    return family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
  }
};

Address unix_address(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A zero byte before the name: not a file, gone with its last descriptor.
  const size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  Address made;
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  std::memcpy(&made.bytes, &address, made.size);
  return made;
}

// Of a host's name. Empty with a reason when it is not known. Null host: all interfaces.
std::vector<Address> tcp_addresses(const char* host, int port, std::string& reason) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (host == nullptr ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host, std::to_string(port).c_str(), &hints, &found);
  if (code != 0) reason = core::cat("the host's name is not known: ", gai_strerror(code));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, [](addrinfo* list) {
    if (list != nullptr) freeaddrinfo(list);
  });
  std::vector<Address> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (each->ai_family != AF_INET && each->ai_family != AF_INET6) continue;
    Address address;
    address.family = each->ai_family;
    address.size = each->ai_addrlen;
    std::memcpy(&address.bytes, each->ai_addr, each->ai_addrlen);
    addresses.push_back(address);
  }
  return addresses;
}

std::vector<Address> addresses_of(const Endpoint& endpoint, std::string& reason) {
  if (!endpoint.socket.empty()) return {unix_address(endpoint.socket)};
  return tcp_addresses(endpoint.host.c_str(), endpoint.port, reason);
}

Descriptor listen_on(const Address& address) {
  Descriptor made(socket(address.family, kStream, 0));
  const int on = 1;
  // A port whose last connections have just ended is free.
  if (address.family != AF_UNIX && made.open()) {
    setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  }
  const bool done = made.open() && bind(made.get(), address.generic(), address.size) == 0 &&
                    listen(made.get(), SOMAXCONN) == 0;
  return done ? std::move(made) : Descriptor();
}

Descriptor listen_on_any(const std::vector<Address>& addresses) {
  for (const auto& address : addresses) {
    Descriptor made = listen_on(address);
    if (made.open()) return made;
  }
  return Descriptor();
}

// One attempt. Not open: errno says why.
Descriptor connect_once(const Address& address, TimePoint deadline) {
  Descriptor made(socket(address.family, kStream, 0));
  if (!made.open()) return made;
  const int on = 1;
  if (address.family != AF_UNIX) {
    setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  if (connect(made.get(), address.generic(), address.size) == 0) return made;
  if (errno != EINPROGRESS) return Descriptor();
  int code = ETIMEDOUT;
  socklen_t size = sizeof code;
  if (wait_ready(made.get(), POLLOUT, deadline)) {
    getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &code, &size);
  }
  errno = code;
  return code == 0 ? std::move(made) : Descriptor();
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (number_ >= 0) close(number_);
    number_ = other.release();
  }
  return *this;
}

int Descriptor::release() {
  return std::exchange(number_, -1);
}

bool on_this_machine(const std::string& host) {
  in_addr parsed{};
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && inet_pton(AF_INET, host.c_str(), &parsed) == 1);
}

Descriptor listen_at(const Endpoint& endpoint, bool anywhere) {
  std::string reason;
  auto addresses = addresses_of(endpoint, reason);
  // Some systems give a host's own name to its loopback interface, where others do not find it.
  std::erase_if(addresses, [&](const auto& a) { return a.family != AF_UNIX && a.loopback(); });
  Descriptor made = listen_on_any(addresses);
  if (made.open()) return made;
  if (!addresses.empty() && errno != EADDRNOTAVAIL) throw Error(std::strerror(errno));
  if (!reason.empty()) throw Error(reason);
  if (!anywhere) {
    throw Error(core::cat(endpoint.host, addresses.empty()
                                             ? " is this machine's loopback interface alone"
                                             : " is no network interface of this machine"));
  }
  made = listen_on_any(tcp_addresses(nullptr, endpoint.port, reason));
  if (!made.open()) throw Error(reason.empty() ? std::strerror(errno) : reason);
  return made;
}

bool of_this_user(int descriptor) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) != 0) return false;
  if (own.ss_family != AF_UNIX) return true;
  ucred peer{};
  size = sizeof peer;
  return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == geteuid();
}

Descriptor connect_to(const Endpoint& endpoint, TimePoint deadline, std::string& reason) {
  while (true) {
    for (const auto& address : addresses_of(endpoint, reason)) {
      Descriptor made = connect_once(address, deadline);
      if (made.open()) return made;
      reason = core::cat("nobody answers there (", std::strerror(errno), ")");
    }
    if (Clock::now() + kRetry >= deadline) return Descriptor();
    std::this_thread::sleep_for(kRetry);
  }
}

bool wait_ready(int descriptor, short events, TimePoint deadline) {
  pollfd file{descriptor, events, 0};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const int most = 1 << 30;
    const int found = poll(&file, 1, static_cast<int>(std::clamp<int64_t>(left, 0, most)));
    if (found > 0) return true;
    if (found == 0 && left <= most) return false;
  }
}

}  // namespace adagp::comm

#include "adagp/teams/comm/store_place.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::comm {
namespace {

bool is_loopback(const addrinfo& address) {
  if (address.ai_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address.ai_addr);
    return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address.ai_addr);
  return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

// Gives `use` a socket for each address of the host until it says that this one is right. Throws
// Error when the name is not known.
Descriptor first_socket(const std::string& host, int port,
                        const std::function<bool(int, const addrinfo&)>& use) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) throw Error(core::cat("the host's name is not known: ", gai_strerror(code)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (each->ai_family != AF_INET && each->ai_family != AF_INET6) continue;
    Descriptor made(socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (made.open() && use(made.get(), *each)) return made;
  }
  return Descriptor();
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

namespace {

// Some machines refuse files in memory that could be run (vm.memfd_noexec), older ones do not know
// the flag.
int file_in_memory() {
  constexpr unsigned kNoExecSeal = 8;  // MFD_NOEXEC_SEAL, which older headers lack
  const int file = memfd_create("adagp-store", kNoExecSeal);
  if (file >= 0 || errno != EINVAL) return file;
  return memfd_create("adagp-store", 0);
}

}  // namespace

StoreFile::StoreFile() : file_(file_in_memory()) {
  if (!file_.open()) {
    throw Error(core::cat("parallel: no file for the processes: ", std::strerror(errno)));
  }
}

std::string StoreFile::path() const {
  return core::cat("/proc/self/fd/", file_.get());
}

bool on_this_machine(const std::string& host) {
  in_addr parsed{};
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && inet_pton(AF_INET, host.c_str(), &parsed) == 1);
}

Descriptor listen_at(const std::string& host, int port) {
  std::string reason = " is this machine's loopback interface alone";
  auto made = first_socket(host, port, [&](int socket, const addrinfo& address) {
    // Some systems give a host's own name to its loopback interface, where others do not find it.
    if (is_loopback(address) && !on_this_machine(host)) return false;
    const int on = 1;  // a port whose last connections have just ended is free
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const bool done =
        bind(socket, address.ai_addr, address.ai_addrlen) == 0 && listen(socket, SOMAXCONN) == 0;
    if (!done) {
      reason = errno == EADDRNOTAVAIL ? " is no network interface of this machine"
                                      : core::cat(": ", std::strerror(errno));
    }
    return done;
  });
  if (!made.open()) throw Error(host + reason);
  return made;
}

std::string silence_at(const std::string& host, int port) {
  std::string reason;
  const auto made = first_socket(host, port, [&](int socket, const addrinfo& address) {
    const timeval limit{1, 0};
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // of connect(), too
    if (connect(socket, address.ai_addr, address.ai_addrlen) == 0) return true;
    const int code = errno == EINPROGRESS ? ETIMEDOUT : errno;
    reason = core::cat("nobody answers there (", std::strerror(code), ")");
    return false;
  });
  return made.open() ? "something listens there and does not answer as a store" : reason;
}

}  // namespace adagp::comm

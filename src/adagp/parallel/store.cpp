#include "adagp/parallel/store.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <future>
#include <regex>
#include <thread>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/parallel/store_host.h"

namespace adagp::parallel {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// c10d asks the name server for the name of every address it connects to. Where that one does not
// answer, processes of one machine should not wait longer than a second for it.
void ask_names_briefly() {
  setenv("RES_OPTIONS", "timeout:1 attempts:1", 0);
}

// A listening socket whose port the system chose.
int listen_on_loopback(int& port) {
  const auto fail = [](const char* what) {
    throw Error(core::cat("parallel: no port on 127.0.0.1 for the processes: ", what, ": ",
                          std::strerror(errno)));
  };
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) fail("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(descriptor, generic, size) != 0) fail("bind");
  if (listen(descriptor, SOMAXCONN) != 0) fail("listen");
  if (getsockname(descriptor, generic, &size) != 0) fail("getsockname");
  port = ntohs(address.sin_port);
  return descriptor;
}

}  // namespace

bool on_this_machine(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1";
}

std::string reason_of(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  std::string text = torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
  text = text.substr(0, text.find('\n'));
  // "failed with [.../transport/tcp/pair.cc:547] Connection closed": the place helps nobody here.
  static const std::regex place(R"(\[[^\]]*\.(cc|cpp|h):\d+\] )");
  text = std::regex_replace(text, place, "");
  constexpr size_t kLongest = 200;
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

bool within(std::chrono::milliseconds limit, std::function<void()> work) {
  auto finished = std::make_shared<std::promise<void>>();
  auto future = finished->get_future();
  std::thread([finished, work = std::move(work)]() mutable {
    try {
      work();
    } catch (...) {  // the caller sees that the result is not there
    }
    work = nullptr;  // what it owns goes before the caller is told
    finished->set_value();
  }).detach();
  return future.wait_for(limit) == std::future_status::ready;
}

StorePtr open_store(const Place& place, std::chrono::milliseconds timeout) {
  struct Attempt {
    StorePtr store;
    std::string reason;
  };
  if (on_this_machine(place.master)) ask_names_briefly();
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(place.port);
  options.isServer = place.rank == 0 && variable("TORCHELASTIC_USE_AGENT_STORE") != "True";
  options.waitWorkers = false;
  options.timeout = timeout;
  auto attempt = std::make_shared<Attempt>();
  const bool finished = within(timeout + std::chrono::seconds(1), [attempt, options, place] {
    try {
      attempt->store = c10::make_intrusive<c10d::TCPStore>(place.master, options);
    } catch (const std::exception& error) {
      attempt->reason = reason_of(error);
    }
  });
  const std::string address = core::cat(place.master, ":", place.port);
  const std::string who = core::cat("parallel: rank ", place.rank, " of ", place.world, ": ");
  if (finished && options.isServer && attempt->store == nullptr) {
    throw Error(core::cat(who, "cannot offer a store at ", address, ": ", attempt->reason,
                          "; choose a free MASTER_PORT, the same for all processes"));
  }
  if (!finished || attempt->store == nullptr) {
    throw Error(core::cat(
        who, "no store at ", address, " within ",
        core::shortest(std::chrono::duration<double>(timeout).count()), " s: ",
        finished ? attempt->reason : "something listens there and does not answer as a store",
        "; check that the process of rank 0 (or the launcher) runs at that address, that "
        "MASTER_ADDR and MASTER_PORT are the same for all processes, and that no firewall is "
        "between"));
  }
  return c10::make_intrusive<c10d::PrefixStore>(
      core::cat("adagp/", variable("TORCHELASTIC_RESTART_COUNT")), attempt->store);
}

StoreHost::StoreHost() {
  ask_names_briefly();
  c10d::TCPStoreOptions options;
  options.masterListenFd = listen_on_loopback(port_);  // the store closes it
  options.port = static_cast<uint16_t>(port_);
  options.isServer = true;
  options.waitWorkers = false;
  options.useLibUV = false;  // the other kind takes no socket
  try {
    store_ = std::make_shared<c10::intrusive_ptr<c10d::TCPStore>>(
        c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options));
  } catch (const std::exception& error) {
    throw Error(core::cat("parallel: no store on 127.0.0.1:", port_, ": ", reason_of(error)));
  }
}

}  // namespace adagp::parallel

#include "adagp/teams/comm/store.h"

#include <cstdlib>
#include <future>
#include <regex>
#include <thread>

#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/teams/comm/meeting.h"
#include "adagp/teams/comm/store_place.h"

namespace adagp::comm {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLate{1000};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Where no launcher has a store: in the process of rank 0, on the interface by which the others
// reach it and on no other.
Descriptor listen_as_first(const RankInfo& info) {
  try {
    return listen_at(info.master, info.port);
  } catch (const Error& error) {
    throw Error(core::cat(
        "parallel: rank 0 of ", info.world, ": cannot offer a store at ", info.store_address(),
        ": ", error.what(), "; choose a free MASTER_PORT and as MASTER_ADDR the address of the ",
        "network interface that the others reach rank 0 by, the same for all processes"));
  }
}

// `listener`: where this process serves, or -1; it becomes the store's.
StorePtr connect(const RankInfo& info, int listener, milliseconds timeout) {
  if (!info.file.empty()) {
    const auto file = c10::make_intrusive<c10d::FileStore>(info.file, -1);
    file->setTimeout(timeout);
    return file;
  }
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(info.port);
  options.isServer = listener >= 0;
  if (listener >= 0) options.masterListenFd = listener;
  options.waitWorkers = false;
  options.timeout = timeout;
  return c10::make_intrusive<c10d::TCPStore>(info.master, options);
}

}  // namespace

std::string reason_of(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  std::string text = torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
  text = text.substr(0, text.find('\n'));
  // "failed with [.../transport/tcp/pair.cc:547] Connection closed": the place helps nobody here.
  static const std::regex info(R"(\[[^\]]*\.(cc|cpp|h):\d+\] )");
  text = std::regex_replace(text, info, "");
  constexpr size_t kLongest = 200;
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

bool within(milliseconds limit, std::function<void()> work) {
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

StorePtr open_store(const RankInfo& info, milliseconds timeout) {
  struct Attempt {
    StorePtr store;
    std::string reason;
  };
  const bool torchrun = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  const bool serves = info.file.empty() && !torchrun && info.rank == 0;
  const int listener = serves ? listen_as_first(info).release() : -1;
  auto attempt = std::make_shared<Attempt>();
  const bool finished = within(timeout + kLate, [attempt, listener, info, timeout] {
    try {
      attempt->store = connect(info, listener, timeout);
    } catch (const std::exception& error) {
      attempt->reason = reason_of(error);
    }
  });
  if (!finished || attempt->store == nullptr) {
    // c10d does not say whether it met nobody or somebody who is silent.
    auto silence = std::make_shared<std::string>();
    const bool asked = info.file.empty() && within(2 * kLate, [silence, info] {
                         try {
                           *silence = silence_at(info.master, info.port);
                         } catch (const Error& error) {
                           *silence = error.what();
                         }
                       });
    throw Error(core::cat(
        "parallel: rank ", info.rank, " of ", info.world, ": no store at ", info.store_address(),
        " within ", core::shortest(std::chrono::duration<double>(timeout).count()), " s: ",
        asked      ? *silence
        : finished ? attempt->reason
                   : "the name server does not answer",
        "; check that the process of rank 0 (or the launcher) runs at that address, that "
        "MASTER_ADDR and MASTER_PORT are the same for all processes, and that no firewall is "
        "between"));
  }
  const StorePtr own = c10::make_intrusive<c10d::PrefixStore>("adagp", attempt->store);
  // The other stores are of one start: they end with our launcher or with rank 0.
  return torchrun ? meet(own, info, timeout) : own;
}

}  // namespace adagp::comm

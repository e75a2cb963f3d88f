#include "adagp/teams/comm/store.h"

#include <unistd.h>

#include <cstdlib>
#include <future>
#include <mutex>
#include <regex>
#include <thread>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/teams/comm/store_client.h"
#include "adagp/teams/comm/store_server.h"

namespace adagp::comm {
namespace {

using std::chrono::milliseconds;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string to_text(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

std::vector<uint8_t> bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

// Our store behind c10d's interface. Operations wait for the store as long as the run's timeout.
class OwnStore : public c10d::Store {
 private:
  // Errors become c10d's, as those of its own stores: whoever asked adds rank, operation and peers.
  template <typename Ask>
  auto ask(Ask question) {
    const std::lock_guard guard(lock_);
    try {
      return question();
    } catch (const Error& error) {
      C10_THROW_ERROR(DistNetworkError, error.what());
    }
  }

 public:
  OwnStore(Endpoint endpoint, std::string secret, milliseconds timeout,
           std::shared_ptr<StoreServer> server)
      : Store(timeout),
        endpoint_(std::move(endpoint)),
        secret_(std::move(secret)),
        server_(std::move(server)),
        client_(endpoint_, secret_, timeout) {}

  c10::intrusive_ptr<Store> clone() override {
    return c10::make_intrusive<OwnStore>(endpoint_, secret_, timeout_, server_);
  }
  void set(const std::string& key, const std::vector<uint8_t>& value) override {
    ask([&] { client_.set(key, to_text(value), timeout_); });
  }
  std::vector<uint8_t> compareSet(const std::string& key, const std::vector<uint8_t>& expected,
                                  const std::vector<uint8_t>& wanted) override {
    return ask([&] {
      return bytes_of(client_.compare_set(key, to_text(expected), to_text(wanted), timeout_));
    });
  }
  std::vector<uint8_t> get(const std::string& key) override {
    return ask([&] {
      await({key}, timeout_);
      return bytes_of(client_.get(key, timeout_).value_or(""));
    });
  }
  int64_t add(const std::string& key, int64_t value) override {
    return ask([&] { return client_.add(key, value, timeout_); });
  }
  bool deleteKey(const std::string& key) override {
    return ask([&] { return client_.remove(key, timeout_); });
  }
  bool check(const std::vector<std::string>& keys) override {
    return ask([&] { return client_.check(keys, timeout_); });
  }
  int64_t getNumKeys() override {
    return ask([&] { return client_.count(timeout_); });
  }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys, const milliseconds& timeout) override {
    ask([&] { await(keys, timeout); });
  }
  bool hasExtendedApi() const override { return true; }
  void append(const std::string& key, const std::vector<uint8_t>& value) override {
    ask([&] { client_.append(key, to_text(value), timeout_); });
  }
  std::vector<std::vector<uint8_t>> multiGet(const std::vector<std::string>& keys) override {
    std::vector<std::vector<uint8_t>> values;
    for (const auto& key : keys) values.push_back(get(key));
    return values;
  }
  void multiSet(const std::vector<std::string>& keys,
                const std::vector<std::vector<uint8_t>>& values) override {
    for (size_t i = 0; i < keys.size(); ++i) set(keys[i], values.at(i));
  }

 private:
  void await(const std::vector<std::string>& keys, milliseconds timeout) {
    if (client_.wait(keys, timeout)) return;
    C10_THROW_ERROR(
        DistStoreError,
        core::cat("no word from the others within ",
                  core::shortest(std::chrono::duration<double>(timeout).count()), " s"));
  }

  Endpoint endpoint_;
  std::string secret_;
  std::shared_ptr<StoreServer> server_;  // in the process of rank 0
  std::mutex lock_;
  StoreClient client_;
};

// What all processes of the run know and nobody else: see docs/multidevice.md.
std::string shared_secret(const RankInfo& info) {
  if (!info.secret.empty()) return info.secret;
  const std::string id = variable("TORCHELASTIC_RUN_ID");
  constexpr size_t kShortest = 16;  // as of ADAGP_STORE_SECRET: job numbers can be guessed
  return id.size() < kShortest ? "" : id;
}

Endpoint endpoint_of(const RankInfo& info) {
  if (!info.socket.empty()) return {info.socket, "", 0};
  if (!on_this_machine(info.master)) return {"", info.master, info.port};
  return {core::cat("adagp-store-", geteuid(), "-", info.port), "", 0};
}

std::shared_ptr<StoreServer> serve(const RankInfo& info, const Endpoint& endpoint,
                                   const std::string& secret) {
  const std::string how = "such as 'openssl rand -hex 16' prints, the same for all processes";
  if (secret.empty() && endpoint.socket.empty()) {
    core::log_warning(core::cat("parallel: whoever reaches ", info.store_address(),
                                " can disturb this run; set ADAGP_STORE_SECRET to a secret ", how));
  }
  try {
    return std::make_shared<StoreServer>(listen_at(endpoint, !secret.empty()), secret);
  } catch (const Error& error) {
    throw Error(core::cat(
        "parallel: rank 0 of ", info.world, ": cannot offer a store at ", info.store_address(),
        ": ", error.what(), "; choose a free MASTER_PORT and as MASTER_ADDR the address of the ",
        "network interface that the others reach rank 0 by, the same for all processes",
        secret.empty() && endpoint.socket.empty()
            ? core::cat("; or set ADAGP_STORE_SECRET to a secret ", how,
                        ", and it may listen on all interfaces")
            : ""));
  }
}

StorePtr torchrun_store(const RankInfo& info, milliseconds timeout) {
  // c10d does not say whether it met nobody or somebody who is silent.
  std::string reason;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  if (!connect_to({"", info.master, info.port}, deadline, reason).open()) throw Error(reason);
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(info.port);
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
  // torchrun's agent has a store; so has our launcher, on a socket.
  const bool torchrun = info.socket.empty() && variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  const Endpoint endpoint = endpoint_of(info);
  const std::string secret = shared_secret(info);
  std::shared_ptr<StoreServer> server;
  if (!torchrun && info.socket.empty() && info.rank == 0) {
    server = serve(info, endpoint, secret);
  }
  auto attempt = std::make_shared<Attempt>();
  const auto connect = [attempt, torchrun, info, endpoint, secret, timeout, server] {
    try {
      if (torchrun) {
        attempt->store = torchrun_store(info, timeout);
      } else {
        attempt->store = c10::make_intrusive<OwnStore>(endpoint, secret, timeout, server);
      }
    } catch (const std::exception& error) {
      attempt->reason = reason_of(error);
    }
  };
  const bool finished = within(timeout + std::chrono::seconds(1), connect);
  const StorePtr store = finished ? attempt->store : nullptr;
  if (store == nullptr) {
    const std::string silent = torchrun ? "something listens there and does not answer as a store"
                                        : "the name server does not answer";
    throw Error(core::cat(
        "parallel: rank ", info.rank, " of ", info.world, ": no store at ", info.store_address(),
        " within ", core::shortest(std::chrono::duration<double>(timeout).count()),
        " s: ", finished ? attempt->reason : silent,
        "; check that the process of rank 0 (or the launcher) runs at that address, that "
        "MASTER_ADDR and MASTER_PORT are the same for all processes, and that no firewall is "
        "between"));
  }
  return c10::make_intrusive<c10d::PrefixStore>(
      core::cat("adagp/", variable("TORCHELASTIC_RESTART_COUNT")), store);
}

}  // namespace adagp::comm

#include "adagp/teams/comm/store_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <list>
#include <optional>
#include <vector>

#include "adagp/base/core/error.h"
#include "adagp/base/core/sha256.h"
#include "adagp/base/core/text.h"
#include "adagp/teams/comm/store_table.h"

namespace adagp::comm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPause{100};  // of taking connections, without descriptors left
constexpr int kAcceptedAtOnce = 64;               // before the others are asked again

}  // namespace

class StoreServer::Loop {
 public:
  Loop(Descriptor listener, int stop, std::string secret, StoreLimits limits)
      : listener_(std::move(listener)),
        stop_(stop),
        secret_(std::move(secret)),
        limits_(limits),
        table_(limits.bytes) {}

  void run() {
    while (wait_for_news()) {
      accept_all();
      for (auto& each : connections_) serve(each);
      answer_waiting();
      const auto now = Clock::now();
      connections_.remove_if([&](const Connection& each) {
        return !each.socket.open() || (each.deadline && now >= *each.deadline);
      });
    }
  }

 private:
  struct Connection {
    Descriptor socket;
    enum class State { kGreeting, kProving, kOpen } state = State::kGreeting;
    std::string client_nonce, store_nonce;
    std::string input, output;
    std::optional<TimePoint> deadline;  // of the greeting, or of the message that has begun
    // Keys it waits for and until when.
    std::optional<std::vector<std::string>> awaited;
    TimePoint awaited_until;

    bool stranger() const { return state != State::kOpen; }
  };

  // False: the object's end.
  bool wait_for_news() {
    std::vector<pollfd> files{{stop_, POLLIN, 0}};
    const auto now = Clock::now();
    TimePoint next = now + std::chrono::hours(1);
    if (now >= paused_until_) {
      files.push_back({listener_.get(), POLLIN, 0});
    } else {
      next = paused_until_;
    }
    for (const auto& each : connections_) {
      // A client that waits says nothing more until it is answered, but it may go.
      const short in = each.awaited ? POLLRDHUP : POLLIN;
      files.push_back(
          {each.socket.get(), static_cast<short>(each.output.empty() ? in : POLLOUT), 0});
      if (each.deadline) next = std::min(next, *each.deadline);
      if (each.awaited) next = std::min(next, each.awaited_until);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
    poll(files.data(), files.size(), static_cast<int>(std::max<int64_t>(0, left)));
    return files[0].revents == 0;
  }

  void accept_all() {
    for (int i = 0; i < kAcceptedAtOnce && Clock::now() >= paused_until_; ++i) {
      Descriptor made(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!made.open()) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) return;
        const bool full = errno != ECONNABORTED && errno != EINTR;  // no descriptors or memory left
        // Those without a proof make room.
        if (full && !drop_oldest_stranger()) paused_until_ = Clock::now() + kPause;
        continue;
      }
      if (!of_this_user(made.get())) continue;
      const int on = 1;
      setsockopt(made.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
      const auto strangers = std::count_if(connections_.begin(), connections_.end(),
                                           [](auto& each) { return each.stranger(); });
      if (static_cast<size_t>(strangers) >= limits_.strangers) drop_oldest_stranger();
      Connection& added = connections_.emplace_back();
      added.socket = std::move(made);
      added.deadline = Clock::now() + limits_.greeting;
    }
  }

  bool drop_oldest_stranger() {
    const auto oldest = std::find_if(connections_.begin(), connections_.end(),
                                     [](auto& each) { return each.stranger(); });
    if (oldest == connections_.end()) return false;
    connections_.erase(oldest);
    return true;
  }

  // Reads and writes what can be without waiting. Whoever breaks a rule is closed.
  void serve(Connection& c) {
    try {
      if (!exchange(c)) c.socket = Descriptor();
    } catch (const std::exception&) {
      c.socket = Descriptor();
    }
    if (c.stranger()) return;  // one deadline for the whole greeting
    if (c.awaited || (c.input.empty() && c.output.empty())) {
      c.deadline.reset();
    } else if (!c.deadline) {
      c.deadline = Clock::now() + limits_.message;
    }
  }

  // False: the client is gone.
  bool exchange(Connection& c) {
    if (!send_some(c)) return false;
    if (c.awaited) return !hung_up(c);
    if (!c.output.empty()) return true;
    const bool more = receive_some(c);
    while (c.output.empty() && !c.awaited && take_message(c)) {
      if (!send_some(c)) return false;
    }
    return more;
  }

  static bool hung_up(const Connection& c) {
    pollfd file{c.socket.get(), POLLRDHUP, 0};
    return poll(&file, 1, 0) > 0;
  }

  // False: the client is gone.
  static bool send_some(Connection& c) {
    while (!c.output.empty()) {
      const ssize_t sent = send(c.socket.get(), c.output.data(), c.output.size(), MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
      c.output.erase(0, static_cast<size_t>(sent));
    }
    return true;
  }

  // One block, so that a client that never stops sending hinders nobody. False: at its end.
  bool receive_some(Connection& c) {
    std::array<char, 16384> block;
    const size_t most = c.stranger() ? kMagic.size() + kNonceBytes + kProofBytes : block.size();
    const ssize_t got = recv(c.socket.get(), block.data(), std::min(most, block.size()), 0);
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    c.input.append(block.data(), static_cast<size_t>(got));
    return got > 0;
  }

  // True: a message was whole and has been dealt with.
  bool take_message(Connection& c) {
    if (c.state == Connection::State::kGreeting) return take_greeting(c);
    if (c.state == Connection::State::kProving) return take_proof(c);
    if (c.input.size() < kLengthBytes) return false;
    const size_t length = length_of(c.input);
    if (length > kLongestMessage) throw Error("parallel: a message too long for the store");
    if (c.input.size() < kLengthBytes + length) return false;
    StoreTable::Wait wait;
    const auto answer = table_.answer(std::string_view(c.input).substr(kLengthBytes, length), wait);
    c.input.erase(0, kLengthBytes + length);
    c.deadline.reset();
    if (answer) {
      c.output = *answer;
    } else {
      constexpr int64_t kLongestWait = 24 * 3600 * 1000;
      c.awaited = std::move(wait.keys);
      c.awaited_until = Clock::now() + std::chrono::milliseconds(
                                           std::clamp<int64_t>(wait.milliseconds, 0, kLongestWait));
    }
    return true;
  }

  bool take_greeting(Connection& c) {
    const size_t size = kMagic.size() + kNonceBytes;
    // The first wrong byte is enough.
    const size_t have = std::min(c.input.size(), kMagic.size());
    if (c.input.compare(0, have, kMagic, 0, have) != 0) throw Error("parallel: no client");
    if (c.input.size() < size) return false;
    c.client_nonce = c.input.substr(kMagic.size(), kNonceBytes);
    c.store_nonce = core::random_bytes(kNonceBytes);
    c.input.erase(0, size);
    c.output = std::string(kMagic) + c.store_nonce;
    c.state = Connection::State::kProving;
    return true;
  }

  bool take_proof(Connection& c) {
    if (c.input.size() < kProofBytes) return false;
    const std::string expected = proof(Side::kClient, secret_, c.client_nonce, c.store_nonce);
    if (!core::equal_secrets(c.input.substr(0, kProofBytes), expected)) {
      throw Error("parallel: a client without the secret");
    }
    c.input.erase(0, kProofBytes);
    c.output = proof(Side::kStore, secret_, c.client_nonce, c.store_nonce);
    c.state = Connection::State::kOpen;
    c.deadline.reset();
    return true;
  }

  void answer_waiting() {
    const auto now = Clock::now();
    for (auto& each : connections_) {
      if (!each.awaited) continue;
      const bool there = table_.has(*each.awaited);
      if (!there && now < each.awaited_until) continue;
      each.awaited.reset();
      each.output = Writer(static_cast<uint8_t>(there ? Status::kDone : Status::kNo)).message();
      if (!send_some(each)) each.socket = Descriptor();
    }
  }

  Descriptor listener_;
  int stop_;
  std::string secret_;
  StoreLimits limits_;
  StoreTable table_;
  std::list<Connection> connections_;  // oldest first
  TimePoint paused_until_{};
};

StoreServer::StoreServer(Descriptor listener, std::string secret, StoreLimits limits)
    : stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!stop_.open()) throw Error(core::cat("parallel: no eventfd: ", std::strerror(errno)));
  loop_ = std::make_unique<Loop>(std::move(listener), stop_.get(), std::move(secret), limits);
  // Signals are for the threads that were there before.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { loop_->run(); });
  } catch (const std::exception& error) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw Error(core::cat("parallel: no thread for the store: ", error.what()));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

StoreServer::~StoreServer() {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = write(stop_.get(), &one, sizeof one);
  thread_.join();
}

StoreHost::StoreHost()
    : endpoint{"adagp-store-" + core::hex(core::random_bytes(8)), "", 0},
      secret(core::hex(core::random_bytes(16))),
      server(
          [this] {
            try {
              return listen_at(endpoint, false);
            } catch (const Error& error) {
              throw Error(core::cat("parallel: no socket for the processes: ", error.what()));
            }
          }(),
          secret) {}

}  // namespace adagp::comm

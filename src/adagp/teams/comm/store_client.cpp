#include "adagp/teams/comm/store_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "adagp/base/core/error.h"
#include "adagp/base/core/sha256.h"
#include "adagp/base/core/text.h"

namespace adagp::comm {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kGreetAgain{20};
constexpr milliseconds kOnItsWay{5000};  // for an answer that is due
// A store full of strangers may drop one who would have proved the secret: it is not the proof.
constexpr int kRefusals = 3;

Writer request(Op op) {
  return Writer(static_cast<uint8_t>(op));
}

}  // namespace

StoreClient::StoreClient(const Endpoint& endpoint, std::string secret, milliseconds timeout)
    : secret_(std::move(secret)) {
  const auto deadline = Clock::now() + timeout;
  int refused = 0;
  while (true) {
    std::string reason;
    socket_ = connect_to(endpoint, deadline, reason);
    if (!socket_.open()) throw Error(reason);
    if (!of_this_user(socket_.get())) throw Error("another user's process listens there");
    const Greeting greeting = greet(deadline);
    if (greeting == Greeting::kDone) return;
    if (greeting == Greeting::kImpostor) {
      throw Error("what listens there does not know this run's secret");
    }
    if (greeting == Greeting::kRefused && ++refused == kRefusals) {
      throw Error(
          "the store there has another secret: it is another run's, or ADAGP_STORE_SECRET "
          "is not the same for all processes");
    }
    if (greeting == Greeting::kNoStore || Clock::now() + kGreetAgain >= deadline) {
      throw Error("something listens there and does not answer as a store of this program");
    }
    std::this_thread::sleep_for(kGreetAgain);
  }
}

StoreClient::Greeting StoreClient::greet(TimePoint deadline) {
  const std::string nonce = core::random_bytes(kNonceBytes);
  if (!send_all(std::string(kMagic) + nonce, deadline)) return Greeting::kClosed;
  const std::string greeting = receive(kMagic.size() + kNonceBytes, deadline);
  if (greeting.size() < kMagic.size() + kNonceBytes) {
    return Clock::now() >= deadline ? Greeting::kNoStore : Greeting::kClosed;
  }
  if (!greeting.starts_with(kMagic)) return Greeting::kNoStore;
  const std::string theirs = greeting.substr(kMagic.size());
  if (!send_all(proof(Side::kClient, secret_, nonce, theirs), deadline)) return Greeting::kRefused;
  const std::string answer = receive(kProofBytes, deadline);
  if (answer.size() < kProofBytes) {
    return Clock::now() >= deadline ? Greeting::kNoStore : Greeting::kRefused;
  }
  const bool genuine = core::equal_secrets(answer, proof(Side::kStore, secret_, nonce, theirs));
  return genuine ? Greeting::kDone : Greeting::kImpostor;
}

bool StoreClient::send_all(std::string_view bytes, TimePoint deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
    if (sent > 0 || errno == EINTR) continue;
    const bool wait = errno == EAGAIN || errno == EWOULDBLOCK;
    if (!wait || !wait_ready(socket_.get(), POLLOUT, deadline)) return false;
  }
  return true;
}

std::string StoreClient::receive(size_t count, TimePoint deadline) {
  std::string bytes;
  std::array<char, 16384> block;
  while (bytes.size() < count && wait_ready(socket_.get(), POLLIN, deadline)) {
    const size_t most = std::min(block.size(), count - bytes.size());
    const ssize_t got = recv(socket_.get(), block.data(), most, 0);
    if (got > 0) bytes.append(block.data(), static_cast<size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) break;
  }
  return bytes;
}

std::optional<std::string> StoreClient::ask(const Writer& request, milliseconds limit) {
  const std::string message = request.message();
  if (!socket_.open()) throw Error("the connection to the store is closed");
  const auto deadline = Clock::now() + limit;
  std::string body;
  if (send_all(message, deadline)) {
    const std::string length = receive(kLengthBytes, deadline);
    const size_t bytes = length.size() == kLengthBytes ? length_of(length) : 0;
    if (bytes > 0 && bytes <= kLongestMessage) body = receive(bytes, deadline);
    if (body.size() < bytes) body.clear();
  }
  if (body.empty()) {
    // An answer that comes later must not be taken for another request's.
    socket_ = Descriptor();
    throw Error(Clock::now() < deadline
                    ? "the store went away"
                    : core::cat("the store did not answer within ",
                                core::shortest(std::chrono::duration<double>(limit).count()),
                                " s"));
  }
  const auto status = static_cast<Status>(body[0]);
  if (status == Status::kFull) throw Error("the store is full");
  if (status == Status::kNo) return std::nullopt;
  return body.substr(1);
}

void StoreClient::set(const std::string& key, std::string_view value, milliseconds limit) {
  ask(request(Op::kSet).text(key).text(value), limit);
}

void StoreClient::append(const std::string& key, std::string_view value, milliseconds limit) {
  ask(request(Op::kAppend).text(key).text(value), limit);
}

std::optional<std::string> StoreClient::get(const std::string& key, milliseconds limit) {
  const auto answer = ask(request(Op::kGet).text(key), limit);
  if (!answer) return std::nullopt;
  return Reader(*answer).text();
}

int64_t StoreClient::add(const std::string& key, int64_t value, milliseconds limit) {
  const auto answer = ask(request(Op::kAdd).text(key).number(value), limit);
  return Reader(answer.value_or("")).number();
}

std::string StoreClient::compare_set(const std::string& key, std::string_view expected,
                                     std::string_view wanted, milliseconds limit) {
  const auto answer = ask(request(Op::kCompareSet).text(key).text(expected).text(wanted), limit);
  return Reader(answer.value_or("")).text();
}

bool StoreClient::check(const std::vector<std::string>& keys, milliseconds limit) {
  Writer question = request(Op::kCheck);
  for (const auto& key : keys) question.text(key);
  return ask(question, limit).has_value();
}

bool StoreClient::wait(const std::vector<std::string>& keys, milliseconds timeout) {
  Writer question = request(Op::kWait);
  question.number(timeout.count());
  for (const auto& key : keys) question.text(key);
  return ask(question, timeout + kOnItsWay).has_value();
}

bool StoreClient::remove(const std::string& key, milliseconds limit) {
  return ask(request(Op::kRemove).text(key), limit).has_value();
}

int64_t StoreClient::count(milliseconds limit) {
  const auto answer = ask(request(Op::kCount), limit);
  return Reader(answer.value_or("")).number();
}

}  // namespace adagp::comm

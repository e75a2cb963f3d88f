#include "adagp/core/interrupt.h"

#include <time.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>

namespace adagp::core {
namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t pending = 0;
std::optional<Clock::time_point> time_limit;

// Of sent_twice().
std::atomic<int> last_signal{0};
std::atomic<int64_t> last_at{0};
static_assert(std::atomic<int64_t>::is_always_lock_free);  // so that a signal handler may use it

void remember(int signal) {
  if (sent_twice(signal)) return;
  if (pending == signal) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  pending = signal;
}

}  // namespace

bool sent_twice(int signal) {
  constexpr int64_t kSecond = 1'000'000'000;
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  const int64_t now = kSecond * time.tv_sec + time.tv_nsec;
  if (last_signal == signal && now - last_at < kSecond) return true;
  last_signal = signal;
  last_at = now;
  return false;
}

void catch_signals() {
  std::signal(SIGINT, remember);
  std::signal(SIGTERM, remember);
}

void stop_after(double seconds) {
  time_limit.reset();
  if (seconds <= 0) return;
  time_limit = Clock::now() +
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

bool time_is_up() {
  return pending == 0 && time_limit && Clock::now() >= *time_limit;
}

int pending_signal() {
  return time_is_up() ? SIGALRM : static_cast<int>(pending);
}

}  // namespace adagp::core

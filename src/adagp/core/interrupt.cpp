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

// Wrappers (timeout, a shell's job) send a signal twice: to the process and to its group.
constexpr int64_t kSameSignalNs = 1'000'000'000;
std::atomic<int64_t> first_at{0};
static_assert(std::atomic<int64_t>::is_always_lock_free);  // so that a signal handler may use it

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

void remember(int signal) {
  if (pending != signal) {
    pending = signal;
    first_at = now_ns();
  } else if (now_ns() - first_at >= kSameSignalNs) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

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

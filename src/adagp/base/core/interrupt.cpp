#include "adagp/base/core/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>

namespace adagp::core {
namespace {

using Clock = std::chrono::steady_clock;

// A signal may come to any thread.
std::atomic<int> pending{0}, arrived{0};
static_assert(std::atomic<int>::is_always_lock_free);  // so that a signal handler may use it
std::optional<Clock::time_point> time_limit;

void remember(int signal) {
  if (++arrived > kSignalsOfOneStop) _exit(128 + signal);
  pending = signal;
}

}  // namespace

void catch_signals() {
  std::signal(SIGINT, remember);
  std::signal(SIGTERM, remember);
  std::signal(SIGUSR1, remember);
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
  return time_is_up() ? SIGALRM : pending.load();
}

}  // namespace adagp::core

#include "adagp/core/interrupt.h"

#include <chrono>
#include <csignal>
#include <optional>

namespace adagp::core {
namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t pending = 0;
std::optional<Clock::time_point> time_limit;

void remember(int signal) {
  pending = signal;
  std::signal(signal, SIG_DFL);
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

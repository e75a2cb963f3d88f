#include "live.h"

#include <chrono>
#include <thread>

#include "adagp/base/core/error.h"
#include "adagp/base/core/interrupt.h"

namespace adagp::apps {

void wait_or_stop(double seconds, const std::string& message) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < until) {
    if (const int signal = core::pending_signal()) throw Interrupted(message, signal);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace adagp::apps

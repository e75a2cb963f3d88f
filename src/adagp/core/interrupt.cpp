#include "adagp/core/interrupt.h"

#include <csignal>

namespace adagp::core {
namespace {

volatile std::sig_atomic_t pending = 0;

void remember(int signal) {
  pending = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void catch_signals() {
  std::signal(SIGINT, remember);
  std::signal(SIGTERM, remember);
}

int pending_signal() {
  return pending;
}

}  // namespace adagp::core

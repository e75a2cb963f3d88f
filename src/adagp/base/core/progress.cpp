#include "adagp/base/core/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/log.h"

namespace adagp::core {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr int kBarWidth = 20;

int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

std::string bar(double fraction) {
  const int full = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kBarWidth);
  return "|" + std::string(full, '#') + std::string(kBarWidth - full, '.') + "| ";
}

}  // namespace

Progress::Progress(double plain_interval_seconds)
    : terminal_(stderr_is_terminal()),
      interval_(terminal_ ? kRedrawSeconds : plain_interval_seconds),
      last_(Clock::now()) {}

Progress::~Progress() {
  clear();
}

void Progress::show(const std::string& text, double fraction, bool force) {
  if (!log_wants(LogLevel::kInfo)) return;
  const auto now = Clock::now();
  if (!force && std::chrono::duration<double>(now - last_).count() < interval_) return;
  last_ = now;
  const std::string shown = printable_line(text);
  if (!terminal_) {
    std::fprintf(stderr, "%s\n", shown.c_str());
    return;
  }
  const std::string line = (bar(fraction) + shown).substr(0, std::max(terminal_columns() - 1, 1));
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  drawn_ = true;
  if (force) {
    std::fputc('\n', stderr);
    drawn_ = false;
  }
  std::fflush(stderr);
}

void Progress::clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

}  // namespace adagp::core

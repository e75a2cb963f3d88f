#include "adagp/base/core/stopped_time.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <system_error>
#include <utility>

#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"

namespace adagp::core {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPeriod(100);
constexpr std::chrono::milliseconds kGap(1000);              // counts after a SIGCONT
constexpr std::chrono::milliseconds kUnsignalledGap(10000);  // counts in any case

std::atomic<bool> continued{false};

void note_continued(int) {
  continued = true;
}

double in_seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Looked at by the watching thread and by everyone who reads a stopwatch.
class Account {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    if (watchers_++ == 0) seen_ = Clock::now();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    look();
    --watchers_;
  }
  double stopped() {
    const std::lock_guard lock(mutex_);
    look();
    return stopped_;
  }

 private:
  // The process stopped somewhere in the period after it was last seen running.
  void look() {
    if (watchers_ == 0) return;
    const auto now = Clock::now();
    const auto gap = now - seen_;
    seen_ = now;
    if (gap > kUnsignalledGap) {
      stopped_ += in_seconds(gap - kPeriod / 2);
    } else if (gap > kGap) {
      // The signal's handler may run a moment after this.
      unexplained_ = in_seconds(gap - kPeriod / 2);
      unexplained_at_ = now;
    }
    if (continued.exchange(false)) {
      stopped_ += std::exchange(unexplained_, 0);
    } else if (now - unexplained_at_ > kGap) {
      unexplained_ = 0;
    }
  }

  std::mutex mutex_;
  int watchers_ = 0;
  Clock::time_point seen_;
  double stopped_ = 0, unexplained_ = 0;
  Clock::time_point unexplained_at_;
};

Account& account() {
  static Account instance;
  return instance;
}

}  // namespace

StoppedTimeWatch::StoppedTimeWatch() {
  try {
    thread_ = std::thread([this] {
      std::unique_lock lock(mutex_);
      while (!wake_.wait_for(lock, kPeriod, [this] { return ending_; })) account().stopped();
    });
  } catch (const std::system_error& error) {
    log_warning(cat("no thread can be started to watch the clock (", error.what(),
                    "): time in which the process is stopped will count as training time"));
    return;
  }
  struct sigaction action = {};
  action.sa_handler = note_continued;
  action.sa_flags = SA_RESTART;
  sigaction(SIGCONT, &action, &before_);
  account().begin();
}

StoppedTimeWatch::~StoppedTimeWatch() {
  if (!thread_.joinable()) return;
  account().end();
  sigaction(SIGCONT, &before_, nullptr);
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

double stopped_seconds() {
  return account().stopped();
}

double suspended_seconds() {
  const auto read = [](clockid_t clock) {
    timespec time{};
    if (clock_gettime(clock, &time) != 0) return 0.0;
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  return std::max(0.0, read(CLOCK_BOOTTIME) - read(CLOCK_MONOTONIC));
}

}  // namespace adagp::core

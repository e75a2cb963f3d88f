#pragma once
// How long this process stood still: stopped by a signal (Ctrl-Z, SIGSTOP) or frozen with its
// container. Stopwatches leave that time out.

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

namespace adagp::core {

// While one lives, a thread looks at the clock ten times a second. More than a second missing
// counts as stopped when SIGCONT came with it, more than ten in any case: a frozen container sends
// no signal, and on a busy machine the thread may be late by seconds. Nothing is noticed while
// there is none.
class StoppedTimeWatch {
 public:
  StoppedTimeWatch();
  ~StoppedTimeWatch();
  StoppedTimeWatch(const StoppedTimeWatch&) = delete;
  StoppedTimeWatch& operator=(const StoppedTimeWatch&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
  struct sigaction before_ = {};  // what was done on SIGCONT
};

// Seconds this process was seen to stand still, since it began. Never falls.
double stopped_seconds();
// Seconds the machine was suspended, since it was started. The steady clock does not count them.
double suspended_seconds();

}  // namespace adagp::core

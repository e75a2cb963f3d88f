#pragma once
// A status line: redrawn in place on a terminal, one plain line per interval elsewhere.

#include <chrono>
#include <string>

namespace adagp::core {

class Progress {
 public:
  explicit Progress(double plain_interval_seconds = 10.0);
  ~Progress();  // ends the line

  // Shows `text` when it is time to; `force` prints now (the end of an epoch).
  void show(const std::string& text, double fraction, bool force = false);
  // Removes the redrawn line so that something else can be printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  double interval_;
  Clock::time_point last_;
  bool drawn_ = false;
};

}  // namespace adagp::core

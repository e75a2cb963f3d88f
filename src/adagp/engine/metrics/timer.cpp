#include "adagp/engine/metrics/timer.h"

namespace adagp::metrics {

double Stopwatch::seconds() const {
  const double stopped = core::stopped_seconds() - stopped_before_;
  return std::chrono::duration<double>(Clock::now() - start_).count() - stopped;
}

double Stopwatch::restart() {
  const double stopped = core::stopped_seconds();
  const auto now = Clock::now();
  const double passed =
      std::chrono::duration<double>(now - start_).count() - (stopped - stopped_before_);
  start_ = now;
  stopped_before_ = stopped;
  return passed;
}

}  // namespace adagp::metrics

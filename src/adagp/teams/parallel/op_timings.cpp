#include "adagp/teams/parallel/op_timings.h"

#include <chrono>
#include <fstream>

#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/pipeline/chrome_trace.h"

namespace adagp::parallel {

double OpTimings::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void OpTimings::add(const pipeline::Op& op, pipeline::Phase phase, int64_t batch, double begin,
                    double end) {
  if (!on()) return;
  constexpr double kMicroseconds = 1e6;
  pipeline::Event event{device_, op, begin * kMicroseconds, end * kMicroseconds};
  event.op.phase = phase;
  event.op.batch = static_cast<int32_t>(batch);
  events_.push_back(event);
}

OpTimings::~OpTimings() {
  if (!on()) return;
  try {
    std::ofstream out(core::cat(file_, ".", device_, ".json"));
    pipeline::ChromeTrace trace([&](std::string_view text) { out << text; });
    for (const pipeline::Event& event : events_) trace.add(event);
    trace.end();
    if (!out) core::log_warning(core::cat(file_, ": the times of the ops could not be written"));
  } catch (const std::exception& error) {
    core::log_warning(core::cat(file_, ": no times of the ops: ", error.what()));
  }
}

}  // namespace adagp::parallel

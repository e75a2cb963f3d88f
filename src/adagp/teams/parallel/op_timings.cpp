#include "adagp/teams/parallel/op_timings.h"

#include <chrono>
#include <fstream>

#include <nlohmann/json.hpp>

#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"

namespace adagp::parallel {

double OpTimings::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void OpTimings::add(const pipeline::Op& op, schedule::Phase phase, int64_t batch, double begin,
                    double end) {
  if (on()) events_.push_back({op, phase, batch, begin, end});
}

OpTimings::~OpTimings() {
  if (!on()) return;
  try {
    nlohmann::json list = nlohmann::json::array();
    for (const Event& e : events_) {
      const bool exact = e.phase == schedule::Phase::kBackprop;
      list.push_back({{"name", core::cat(pipeline::kind_name(e.op.kind), " ", e.op.micro)},
                      {"cat", exact ? "BP" : "GP"},
                      {"ph", "X"},
                      {"ts", e.begin * 1e6},
                      {"dur", (e.end - e.begin) * 1e6},
                      {"pid", 0},
                      {"tid", device_},
                      {"args",
                       {{"kind", pipeline::kind_name(e.op.kind)},
                        {"batch", e.batch},
                        {"micro", e.op.micro},
                        {"stage", e.op.stage},
                        {"gradient", e.op.gradient}}}});
    }
    std::ofstream out(core::cat(file_, ".", device_, ".json"));
    out << nlohmann::json{{"traceEvents", list}}.dump() << "\n";
    if (!out) core::log_warning(core::cat(file_, ": the times of the ops could not be written"));
  } catch (const std::exception& error) {
    core::log_warning(core::cat(file_, ": no times of the ops: ", error.what()));
  }
}

}  // namespace adagp::parallel

#include "adagp/sim/pipeline/chrome_trace.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "adagp/base/core/text.h"

namespace adagp::pipeline {

ChromeTrace::ChromeTrace(Write write) : write_(std::move(write)) {
  write_("{\"traceEvents\":[");
}

void ChromeTrace::add(const Event& event) {
  const Op& op = event.op;
  const std::string kind = kind_name(op.kind);
  const nlohmann::json box{{"name", op.micro < 0 ? kind : core::cat(kind, " ", op.micro)},
                           {"cat", phase_title(op.phase)},
                           {"ph", "X"},
                           {"ts", event.start},
                           {"dur", event.end - event.start},
                           {"pid", 0},
                           {"tid", event.device},
                           {"args",
                            {{"kind", kind},
                             {"batch", op.batch},
                             {"micro", op.micro},
                             {"stage", op.stage},
                             {"gradient", op.gradient}}}};
  write_((first_ ? "\n" : ",\n") + box.dump());
  first_ = false;
}

void ChromeTrace::end() {
  write_("\n]}\n");
}

}  // namespace adagp::pipeline

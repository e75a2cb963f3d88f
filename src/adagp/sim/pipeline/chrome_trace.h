#pragma once
// A trace that chrome://tracing and Perfetto show: a line of boxes for each device.

#include <functional>
#include <string_view>

#include "adagp/sim/pipeline/cluster.h"

namespace adagp::pipeline {

class ChromeTrace {
 public:
  using Write = std::function<void(std::string_view)>;
  explicit ChromeTrace(Write write);  // writes the beginning

  void add(const Event& event);  // whose times are microseconds
  void end();

 private:
  Write write_;
  bool first_ = true;
};

}  // namespace adagp::pipeline

#pragma once
// When each op of a pipeline really ran, for people (a trace that chrome://tracing and Perfetto
// show) and for the comparison with the simulator.

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/sim/pipeline/cluster.h"

namespace adagp::parallel {

class OpTimings {
 public:
  // Of one device; nothing is kept when `file` is empty.
  OpTimings(std::string file, int device) : file_(std::move(file)), device_(device) {}
  ~OpTimings();  // writes
  OpTimings(const OpTimings&) = delete;
  OpTimings& operator=(const OpTimings&) = delete;

  bool on() const { return !file_.empty(); }
  void add(const pipeline::Op& op, pipeline::Phase phase, int64_t batch, double begin, double end);
  static double now();  // seconds, of one clock for all processes of a machine

 private:
  std::string file_;
  int device_;
  std::vector<pipeline::Event> events_;
};

}  // namespace adagp::parallel

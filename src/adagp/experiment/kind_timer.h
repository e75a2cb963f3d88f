#pragma once
// Where the time of a step on the CPU goes, by kind of work: LibTorch calls us at the beginning and
// the end of each operation.

#include <array>

#include "adagp/report/step_work.h"

namespace adagp::experiment {

using KindSeconds = std::array<double, report::kKinds>;

// Counts what this thread does while it lives. Operations belong to the kind of their name; those
// inside an optimizer, a predictor or a summary (scopes named adagp::...) to that one. Time outside
// of all operations is in none. One at a time.
class KindTimer {
 public:
  KindTimer();
  ~KindTimer();
  KindTimer(const KindTimer&) = delete;
  KindTimer& operator=(const KindTimer&) = delete;

  KindSeconds seconds() const;

 private:
  uint64_t handle_;
};

// The kind of an operation that LibTorch calls by this name ("aten::conv2d").
report::Kind kind_of_operation(const std::string& name);

}  // namespace adagp::experiment

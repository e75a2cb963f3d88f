#pragma once
// Where the time of a step goes, by kind of work: LibTorch calls us at the beginning and the end of
// each operation, and our own code names what it does by scopes (RECORD_USER_SCOPE "adagp::...").

#include <array>
#include <memory>

#include <torch/types.h>

#include "adagp/results/report/step_work.h"

namespace adagp::experiment {

using KindSeconds = std::array<double, report::kKinds>;

// Puts a mark on the device's time wherever the kind of work changes. Operations belong to the kind
// of their name; those inside a scope to that one. Work outside of all operations, and the time
// between them, is kOther. One at a time.
//
// On a GPU start() and stop() may be recorded in a CUDA graph (device/graph.h): the marks are then
// part of it, and seconds() tells of the last replay. What a mark costs is measured beside them and
// taken off.
class KindTimer {
 public:
  explicit KindTimer(const at::Device& device = at::kCPU);
  ~KindTimer();  // stops, too
  KindTimer(const KindTimer&) = delete;
  KindTimer& operator=(const KindTimer&) = delete;

  void start();
  void stop();
  KindSeconds seconds();  // after stop(); waits for the device

 private:
  struct Marks;
  std::unique_ptr<Marks> marks_;
};

// The kind of an operation that LibTorch calls by this name ("aten::conv2d").
report::Kind kind_of_operation(const std::string& name);

}  // namespace adagp::experiment

#pragma once
// Times between moments of a device's work: CUDA events on a GPU, so that nothing waits in between;
// the clock on a CPU.

#include <memory>
#include <vector>

#include <torch/types.h>

namespace adagp::device {

class EventTimer {
 public:
  // kRecordable: moments may be recorded in a CUDA graph; seconds() is then of its last replay.
  enum class Use { kPlain, kRecordable };
  explicit EventTimer(const at::Device& device, Use use = Use::kPlain);
  ~EventTimer();
  void add();                     // a moment: when the work queued so far is done
  std::vector<double> seconds();  // between neighbouring moments; waits for the device

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace adagp::device

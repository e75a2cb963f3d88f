#pragma once
// How much memory tensors on the CPU take at once.

#include <algorithm>
#include <functional>
#include <memory>

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

namespace adagp::testing {

class PeakMemory : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t bytes, size_t, size_t, c10::Device) override {
    now_ += bytes;
    peak_ = std::max(peak_, now_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t peak() const { return peak_; }

 private:
  int64_t now_ = 0, peak_ = 0;
};

// Bytes that `work` has at most at once, beside what was there before.
inline int64_t peak_bytes(const std::function<void()>& work) {
  const auto memory = std::make_shared<PeakMemory>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, memory);
  work();
  return memory->peak();
}

}  // namespace adagp::testing

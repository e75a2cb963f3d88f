#pragma once
// Mixed precision for the operations that our layers do not compute themselves.

#include <torch/types.h>

namespace adagp::device {

// bf16 while it is alive, if enabled. One scope for each forward pass: autocast keeps copies of
// weights in bf16 until the scope ends, and an update inside the scope would leave them stale.
class AutocastScope {
 public:
  AutocastScope(at::Device device, bool enabled);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  at::DeviceType type_;
  bool enabled_;
};

}  // namespace adagp::device

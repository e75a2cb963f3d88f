#pragma once
// bf16 for what our layers do not compute themselves, a user's own operations, one scope per step:
// autocast keeps casted weights until its cache is cleared, and an update inside the scope would
// leave them stale.

#include <torch/types.h>

namespace adagp::train {

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

}  // namespace adagp::train

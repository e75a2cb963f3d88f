#pragma once
// Which precision a run computes in.
//
// AutocastScope: bf16 for what our layers do not compute themselves, one scope per step:
// autocast keeps casted weights until its cache is cleared, and an update inside the scope would
// leave them stale.

#include <torch/types.h>

#include "adagp/train/config.h"

namespace adagp::train {

// bf16 becomes fp32 where the device is a CPU; with `say`, one warning of the process tells it.
// Throws UsageError for a device that is not there.
void resolve_precision(Config& config, bool say = true);

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

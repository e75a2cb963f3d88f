#include "adagp/engine/run/precision.h"

#include "adagp/base/core/log_once.h"
#include "adagp/gpu/device/choose_device.h"

namespace adagp::run {

void resolve_precision(config::RunConfig& config, bool say) {
  if (config.precision != "bf16" || device::choose_device(config.device).is_cuda()) return;
  config.precision = "fp32";
  if (!say) return;
  core::warn_once("precision = bf16 needs a GPU, and the device is the CPU: fp32 is used instead");
}

}  // namespace adagp::run

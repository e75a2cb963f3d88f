#include "adagp/train/precision.h"

#include <ATen/autocast_mode.h>

#include "adagp/core/log_once.h"
#include "adagp/train/session.h"

namespace adagp::train {

void resolve_precision(Config& config, bool say) {
  if (config.precision != "bf16" || choose_device(config.device).is_cuda()) return;
  config.precision = "fp32";
  if (!say) return;
  core::warn_once("precision = bf16 needs a GPU, and the device is the CPU: fp32 is used instead");
}

AutocastScope::AutocastScope(at::Device device, bool enabled)
    : type_(device.type()), enabled_(enabled) {
  if (!enabled_) return;
  at::autocast::set_autocast_enabled(type_, true);
  at::autocast::set_autocast_dtype(type_, at::kBFloat16);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (!enabled_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(type_, false);
}

}  // namespace adagp::train

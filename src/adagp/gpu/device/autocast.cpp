#include "adagp/gpu/device/autocast.h"

#include <ATen/autocast_mode.h>

namespace adagp::device {

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

}  // namespace adagp::device

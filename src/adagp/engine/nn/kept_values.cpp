#include "adagp/engine/nn/kept_values.h"

#include <utility>

#include <ATen/core/grad_mode.h>

namespace adagp::nn {
namespace {

thread_local KeptValues* active_values = nullptr;

}  // namespace

KeptValuesScope::KeptValuesScope(KeptValues* values)
    : previous_(std::exchange(active_values, values)) {}
KeptValuesScope::~KeptValuesScope() {
  active_values = previous_;
}
KeptValues* kept_values() {
  return at::GradMode::is_enabled() ? active_values : nullptr;
}

}  // namespace adagp::nn

#pragma once
// The keys that methods and predictors read: a part of the table of bind() in run_config.h.

#include "adagp/base/config/run_config.h"

namespace adagp::config {

void bind_methods(core::Binding& binding, RunConfig& config);

}  // namespace adagp::config

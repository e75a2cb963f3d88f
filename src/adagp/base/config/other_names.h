#pragma once
// What PyTorch, Keras and others call our keys, for the message about an unknown one.

#include "adagp/base/core/binding.h"

namespace adagp::config {

void add_other_names(core::Binding& binding);

}  // namespace adagp::config

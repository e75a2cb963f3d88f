#pragma once
// The fixed feedback of modules.signal = feedback.

#include <cstdint>

#include <torch/types.h>

namespace adagp::method {

// [classes, width], float, uniform between +-1 / sqrt(width): a delta is about as long as the error
// that it is made of. The same for a seed and a module on every device.
at::Tensor random_feedback(int64_t seed, size_t module, int64_t classes, int64_t width);

}  // namespace adagp::method

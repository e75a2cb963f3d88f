#pragma once
// What this machine can do at best: a large matrix product and a copy in memory.

#include <torch/types.h>

#include "adagp/results/report/roofline.h"

namespace adagp::experiment {

// The best of several tries, because other programs only make a try slower. The product is of the
// precision (fp32, bf16) that steps compute in, with TF32 where convolutions may use it; the copy
// is larger than the caches, and its bytes are those read and those written. What `given` has above
// 0 is not measured.
report::MachineLimits machine_limits(const at::Device& device, at::ScalarType type,
                                     report::MachineLimits given = {});

}  // namespace adagp::experiment
